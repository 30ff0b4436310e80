// See directory_endpoints.h.
#include "daemon/config/directory_endpoints.h"

#include <algorithm>

#include "daemon/config/comma_list.h"

namespace tentq {
namespace {

constexpr std::uint16_t kEtcdPort = 2379;
constexpr std::size_t kMostEndpoints = 16;
constexpr std::size_t kMostPrefixBytes = 200;

}  // namespace

bool parse_directory_endpoints(std::string_view text, std::vector<PeerAddress>* endpoints) {
  constexpr std::string_view kScheme = "http://";
  endpoints->clear();
  return take_items(text, [&](std::string_view one) {
    if (!one.starts_with(kScheme) || endpoints->size() == kMostEndpoints) return false;
    one.remove_prefix(kScheme.size());
    if (one.ends_with('/')) one.remove_suffix(1);
    const auto address = parse_peer_address(one, kEtcdPort);
    if (address) endpoints->push_back(*address);
    return address.has_value();
  });
}

bool is_directory_prefix(std::string_view text) {
  return text.size() > 1 && text.size() <= kMostPrefixBytes && text.front() == '/' &&
         text.back() != '/' && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '.' || c == '_' || c == '-' || c == '/';
         });
}

}  // namespace tentq
