// What the directory says about one name: who has it and where that host is reached. The value of
// its key in etcd is a small JSON document that any daemon of the cluster may have written, so it
// is checked like everything from outside.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tentq::directory {

// Of one value; a longer one is no entry.
inline constexpr std::size_t kMostValueBytes = 1024;

// Who publishes a name.
struct Holder {
  std::string address;              // of its daemon, host:port
  std::string host;                 // its id, 32 hexadecimal digits
  std::uint64_t epoch_counter = 0;  // of its daemon
  std::uint64_t epoch_random = 0;

  bool operator==(const Holder&) const = default;
};

struct Entry {
  std::string name;
  Holder holder;
  std::int64_t lease = 0;
  std::int64_t modified = 0;  // revision of the last change
};

std::string print_holder(const Holder& holder);
// Nothing when it is not of this form.
std::optional<Holder> parse_holder(std::string_view value);

// Where names are kept: PREFIX/segments/NAME.
std::string key_of(std::string_view prefix, std::string_view name);
// Behind the keys of all names.
std::string end_of_keys(std::string_view prefix);
// Nothing when it is no key of a segment's name.
std::optional<std::string> name_of(std::string_view prefix, std::string_view key);

}  // namespace tentq::directory
