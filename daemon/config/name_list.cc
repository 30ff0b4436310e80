// See name_list.h.
#include "daemon/config/name_list.h"

#include <arpa/inet.h>

#include <algorithm>

#include "daemon/config/comma_list.h"

namespace tentq {
namespace {

constexpr std::size_t kMostNames = 256;
constexpr std::size_t kMostNameBytes = 253;

bool is_name(std::string_view text) {
  in6_addr address;
  const std::string whole(text);
  if (::inet_pton(AF_INET6, whole.c_str(), &address) == 1) return true;
  if (text.starts_with("*.")) text.remove_prefix(2);
  if (text.empty() || text.size() > kMostNameBytes || text.front() == '.' || text.front() == '-') {
    return false;
  }
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '_' || c == '.';
  });
}

}  // namespace

bool parse_name_list(std::string_view text, std::vector<std::string>* names) {
  names->clear();
  return take_items(text, [names](std::string_view name) {
    if (!is_name(name) || names->size() == kMostNames) return false;
    names->emplace_back(name);
    return true;
  });
}

}  // namespace tentq
