// See etcd_directory.h.
#include "daemon/directory/etcd_directory.h"

#include <algorithm>
#include <utility>

#include "daemon/conductor.h"
#include "daemon/config/directory_endpoints.h"
#include "daemon/peers/proof.h"

namespace tentq {
namespace {

std::uint64_t random_number() {
  std::uint64_t number = 0;
  fill_random(reinterpret_cast<std::uint8_t*>(&number), sizeof number);
  return number;
}

std::vector<PeerAddress> endpoints_of(const DirectorySettings& settings) {
  std::vector<PeerAddress> endpoints;
  parse_directory_endpoints(settings.endpoints, &endpoints);
  return endpoints;
}

directory::DirectoryTerms terms_of(const DirectorySettings& settings, directory::Holder self) {
  directory::DirectoryTerms terms;
  terms.self = std::move(self);
  terms.lease = std::chrono::duration_cast<std::chrono::seconds>(settings.lease);
  terms.timeout = settings.timeout;
  terms.endpoints = settings.endpoints;
  terms.endpoint_count = static_cast<std::uint32_t>(endpoints_of(settings).size());
  terms.seed = random_number();
  return terms;
}

}  // namespace

EtcdDirectory::EtcdDirectory(boost::asio::io_context& io, const DirectorySettings& settings,
                             directory::Holder self, ErrorBook& errors)
    : timer_(io),
      gateway_(io, endpoints_of(settings), settings.prefix, settings.timeout, random_number()),
      names_(terms_of(settings, std::move(self)), gateway_, errors,
             [this](Time at) { wake_at(at); }) {}

void EtcdDirectory::wake_at(Time at) {
  if (wakes_ == at) return;
  wakes_ = at;
  timer_.cancel();
  if (at == kNever) return;
  timer_.expires_after(std::max(at - monotonic_now(), Duration{}));
  timer_.async_wait([this, at](boost::system::error_code error) {
    if (error || wakes_ != at) return;
    wakes_.reset();
    names_.tick(monotonic_now());
  });
}

}  // namespace tentq
