// See name_list.h.
#include "daemon/config/name_list.h"

#include <arpa/inet.h>

#include <algorithm>

namespace tentq {
namespace {

constexpr std::size_t kMostNames = 256;
constexpr std::size_t kMostNameBytes = 253;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

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
  if (trimmed(text).empty()) return true;
  for (;;) {
    const std::size_t comma = text.find(',');
    const std::string_view name = trimmed(text.substr(0, comma));
    if (!is_name(name) || names->size() == kMostNames) return false;
    names->emplace_back(name);
    if (comma == std::string_view::npos) return true;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace tentq
