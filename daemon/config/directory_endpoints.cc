// See directory_endpoints.h.
#include "daemon/config/directory_endpoints.h"

#include <algorithm>

namespace tentq {
namespace {

constexpr std::uint16_t kEtcdPort = 2379;
constexpr std::size_t kMostEndpoints = 16;
constexpr std::size_t kMostPrefixBytes = 200;

std::string_view without_spaces(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

}  // namespace

bool parse_directory_endpoints(std::string_view text, std::vector<PeerAddress>* endpoints) {
  constexpr std::string_view kScheme = "http://";
  endpoints->clear();
  if (without_spaces(text).empty()) return true;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    std::string_view one = without_spaces(text.substr(begin, end - begin));
    begin = end + 1;
    if (!one.starts_with(kScheme) || endpoints->size() == kMostEndpoints) return false;
    one.remove_prefix(kScheme.size());
    if (one.ends_with('/')) one.remove_suffix(1);
    const auto address = parse_peer_address(one, kEtcdPort);
    if (!address) return false;
    endpoints->push_back(*address);
  }
  return true;
}

bool is_directory_prefix(std::string_view text) {
  return text.size() > 1 && text.size() <= kMostPrefixBytes && text.front() == '/' &&
         text.back() != '/' && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '.' || c == '_' || c == '-' || c == '/';
         });
}

}  // namespace tentq
