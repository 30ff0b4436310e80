// See entry.h.
#include "daemon/directory/entry.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "daemon/config/peer_address.h"
#include "daemon/directory/json.h"
#include "proto/text.h"

namespace tentq::directory {
namespace {

constexpr std::size_t kHostDigits = 32;

bool is_host_id(std::string_view text) {
  return text.size() == kHostDigits && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

std::string folder_of(std::string_view prefix) {
  return std::string(prefix) + "/segments/";
}

}  // namespace

std::string print_holder(const Holder& holder) {
  // Numbers as texts: many readers of JSON know no more than 53 bits of one.
  const nlohmann::ordered_json json = {{"address", holder.address},
                                       {"host", holder.host},
                                       {"epoch_counter", std::to_string(holder.epoch_counter)},
                                       {"epoch_random", std::to_string(holder.epoch_random)}};
  return json.dump();
}

std::optional<Holder> parse_holder(std::string_view value) {
  if (value.size() > kMostValueBytes) return {};
  const Json json = parse_json(value);
  const auto counter = number_of<std::uint64_t>(json, "epoch_counter");
  const auto random = number_of<std::uint64_t>(json, "epoch_random");
  const auto address = parse_peer_address(text_of(json, "address"));
  const std::string_view host = text_of(json, "host");
  if (!address || !counter || !random || !is_host_id(host)) return {};
  return Holder{address->text(), std::string(host), *counter, *random};
}

std::string key_of(std::string_view prefix, std::string_view name) {
  return folder_of(prefix).append(name);
}

std::string end_of_keys(std::string_view prefix) {
  std::string end = folder_of(prefix);
  ++end.back();
  return end;
}

std::optional<std::string> name_of(std::string_view prefix, std::string_view key) {
  const std::string folder = folder_of(prefix);
  if (!key.starts_with(folder)) return {};
  key.remove_prefix(folder.size());
  if (!is_valid_name(key)) return {};
  return std::string(key);
}

}  // namespace tentq::directory
