// Quotas of the configuration. See quotas.h.
#include "daemon/config/quotas.h"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>

#include "daemon/config/key_kinds.h"
#include "daemon/core/limits.h"
#include "proto/text.h"

namespace tentq {
namespace {

constexpr std::uint64_t kMostOwners = 1u << 24;
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 50;
constexpr std::uint32_t kMostWeight = 10'000;
constexpr std::array<std::string_view, 2> kOverNames = {"reject", "downgrade"};
constexpr std::array<std::string_view, 3> kPerNames = {"cgroup", "user", "all"};

// --- members
// --------------------------------------------------------------------------------------

// What a name means on this host; nullopt: nothing.
std::optional<std::uint32_t> uid_named(const std::string& name) {
  std::vector<char> buffer(16'384);
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found) != 0) return {};
  return found == nullptr ? std::nullopt : std::optional<std::uint32_t>(found->pw_uid);
}
std::optional<std::uint32_t> gid_named(const std::string& name) {
  std::vector<char> buffer(65'536);
  group entry{};
  group* found = nullptr;
  if (::getgrnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found) != 0) return {};
  return found == nullptr ? std::nullopt : std::optional<std::uint32_t>(found->gr_gid);
}

const std::string* text_in(const ConfigValue& value) {
  return std::get_if<std::string>(&value.content);
}

bool set_client(const ConfigValue& value, Quota* quota) {
  const std::string* text = text_in(value);
  if (text == nullptr || text->empty()) return false;
  const bool open = text->back() == '*';
  const std::string_view name = std::string_view(*text).substr(0, text->size() - (open ? 1 : 0));
  if (!(open && name.empty()) && !is_valid_name(name)) return false;
  quota->client = *text;
  return true;
}

// An id as a number, or as a name that this host knows.
bool set_id(const ConfigValue& value, std::optional<std::uint32_t> (*named)(const std::string&),
            std::optional<std::uint32_t>* id, std::string* written) {
  if (const auto* number = std::get_if<std::uint64_t>(&value.content)) {
    if (*number >= 0xffff'ffffu) return false;
    *id = static_cast<std::uint32_t>(*number);
    return true;
  }
  const std::string* text = text_in(value);
  if (text == nullptr || text->empty() || text->size() > 32) return false;
  *id = named(*text);
  *written = *text;
  return id->has_value();
}

template <std::size_t N, class Enum>
bool set_choice(const ConfigValue& value, const std::array<std::string_view, N>& names,
                Enum* choice) {
  const std::string* text = text_in(value);
  for (std::size_t i = 0; text != nullptr && i < N; ++i) {
    if (names[i] == *text) return *choice = static_cast<Enum>(i), true;
  }
  return false;
}

bool set_class(const ConfigValue& value, Quota* quota) {
  const std::string* text = text_in(value);
  const auto cls = text == nullptr ? std::nullopt : class_named(*text);
  if (cls) quota->highest_class = *cls;
  return cls.has_value();
}

bool set_number(const ConfigValue& value, std::uint64_t low, std::uint64_t high,
                std::uint64_t* to) {
  const auto* number = std::get_if<std::uint64_t>(&value.content);
  if (number == nullptr || *number < low || *number > high) return false;
  *to = *number;
  return true;
}

bool set_bytes(const ConfigValue& value, std::uint64_t low, std::optional<std::uint64_t>* to) {
  std::uint64_t bytes = 0;
  if (!keys::size_of(value, &bytes) || bytes < low || bytes > kMostBytes) return false;
  *to = bytes;
  return true;
}

struct Member {
  std::string name;
  std::string expected;
  std::function<bool(const ConfigValue&, Quota*)> set;
};

const std::vector<Member>& members() {
  using V = const ConfigValue&;
  static const std::vector<Member> table = {
      {"client", "a client's name, or its beginning and \"*\"", set_client},
      {"uid", "a uid, or the name of a user of this host (`getent passwd NAME` finds it)",
       [](V v, Quota* q) { return set_id(v, uid_named, &q->uid, &q->user); }},
      {"group", "a gid, or the name of a group of this host (`getent group NAME` finds it)",
       [](V v, Quota* q) { return set_id(v, gid_named, &q->gid, &q->group); }},
      {"per", R"(one of "cgroup", "user", "all")",
       [](V v, Quota* q) { return set_choice(v, kPerNames, &q->per); }},
      {"highest_class", std::string(kClassWords), set_class},
      {"over", R"(one of "reject", "downgrade")",
       [](V v, Quota* q) { return set_choice(v, kOverNames, &q->over); }},
      {"weight", keys::number_range(1, kMostWeight),
       [](V v, Quota* q) {
         std::uint64_t weight = 0;
         if (!set_number(v, 1, kMostWeight, &weight)) return false;
         q->weight = static_cast<std::uint32_t>(weight);
         return true;
       }},
      {"owners", keys::number_range(0, kMostOwners),
       [](V v, Quota* q) { return set_number(v, 0, kMostOwners, &q->owners.emplace()); }},
      {"bytes", keys::size_range(0, kMostBytes),
       [](V v, Quota* q) { return set_bytes(v, 0, &q->bytes); }},
      {"in_flight_bytes", keys::size_range(core::kLeastCap, kMostBytes),
       [](V v, Quota* q) { return set_bytes(v, core::kLeastCap, &q->in_flight_bytes); }},
      {"pinned_bytes", keys::size_range(0, kMostBytes),
       [](V v, Quota* q) { return set_bytes(v, 0, &q->pinned_bytes); }},
  };
  return table;
}

std::string nearest_member(std::string_view name) {
  std::string nearest;
  std::size_t least = ~std::size_t{0};
  for (const Member& member : members()) {
    const std::size_t found = edit_distance(name, member.name);
    if (found >= least) continue;
    least = found;
    nearest = member.name;
  }
  return nearest;
}

// --- entries
// --------------------------------------------------------------------------------------

ConfigError error_at(unsigned line, unsigned column, std::string key, std::string message) {
  ConfigError error;
  error.line = line;
  error.column = column;
  error.key = std::move(key);
  error.message = std::move(message);
  return error;
}

void parse_member(const ConfigMember& given, const std::string& entry, Quota* quota,
                  std::vector<ConfigError>* errors) {
  const std::string key = entry + '.' + given.name;
  const auto known = std::find_if(members().begin(), members().end(),
                                  [&](const Member& each) { return each.name == given.name; });
  if (known == members().end()) {
    errors->push_back(error_at(
        given.line, given.column, key,
        "unknown key; the nearest known key of a quota is `" + nearest_member(given.name) + '`'));
    errors->back().value = given.value.raw;
  } else if (!known->set(given.value, quota)) {
    errors->push_back(error_at(given.line, given.column, key, "bad value"));
    errors->back().value = given.value.raw;
    errors->back().expected = known->expected;
  }
}

// Whether every name that `b` takes is taken by `a`.
bool covers_name(const std::string& a, const std::string& b) {
  if (a.empty() || a == "*") return true;  // also of clients without a name
  if (a.back() != '*') return a == b;
  return !b.empty() && std::string_view(b).starts_with(std::string_view(a).substr(0, a.size() - 1));
}
template <class Id>
bool covers_id(const Id& a, const Id& b) {
  return !a.has_value() || a == b;
}
bool covers(const Quota& a, const Quota& b) {
  return covers_name(a.client, b.client) && covers_id(a.uid, b.uid) && covers_id(a.gid, b.gid);
}

void check_entry(const ConfigRow& row, const std::string& entry, const Quota& quota,
                 const std::vector<Quota>& before, std::vector<ConfigError>* errors) {
  const auto add = [&](std::string message) {
    errors->push_back(error_at(row.line, row.column, entry, std::move(message)));
  };
  if (quota.client.empty() && !quota.uid && !quota.gid) {
    return add(
        "says not whom it is for: give `client`, `uid` or `group`; \"client\": \"*\" is "
        "everybody");
  }
  const bool says_over = std::any_of(row.members.begin(), row.members.end(),
                                     [](const ConfigMember& each) { return each.name == "over"; });
  if (says_over && quota.highest_class == ClassId::foreground) {
    add("`over` has no effect, because every class is allowed: give a `highest_class` below "
        "foreground, or leave `over` out");
  }
  for (std::size_t i = 0; i < before.size(); ++i) {
    const std::string other = "`quotas[" + std::to_string(i) + "]` (" + quota_name(before[i]) + ')';
    if (same_match(before[i], quota)) {
      return add("is for the same clients as " + other + ": put both into one entry");
    }
    if (covers(before[i], quota)) {
      return add("never counts, because the first that matches does, and " + other +
                 " matches whenever this one does: move this one before it, or remove it");
    }
  }
}

void print_member(std::string_view name, const std::string& value, std::string* out) {
  *out += out->back() == '{' ? "\"" : ", \"";
  out->append(name).append("\": ").append(value);
}

std::string print_id(std::uint32_t id, const std::string& written) {
  return written.empty() ? std::to_string(id) : keys::quoted(written);
}

std::string print_quota(const Quota& q) {
  const auto size = [](std::uint64_t bytes) { return keys::quoted(print_size(bytes)); };
  std::string out = "{";
  if (!q.client.empty()) print_member("client", keys::quoted(q.client), &out);
  if (q.uid) print_member("uid", print_id(*q.uid, q.user), &out);
  if (q.gid) print_member("group", print_id(*q.gid, q.group), &out);
  if (q.per != QuotaPer::cgroup) {
    print_member("per", keys::quoted(kPerNames[static_cast<std::size_t>(q.per)]), &out);
  }
  if (q.highest_class != ClassId::foreground) {
    print_member("highest_class", keys::quoted(kClassNames[index_of(q.highest_class)]), &out);
    print_member("over", keys::quoted(kOverNames[static_cast<std::size_t>(q.over)]), &out);
  }
  if (q.weight != 1) print_member("weight", std::to_string(q.weight), &out);
  if (q.owners) print_member("owners", std::to_string(*q.owners), &out);
  if (q.bytes) print_member("bytes", size(*q.bytes), &out);
  if (q.in_flight_bytes) print_member("in_flight_bytes", size(*q.in_flight_bytes), &out);
  if (q.pinned_bytes) print_member("pinned_bytes", size(*q.pinned_bytes), &out);
  return out + '}';
}

}  // namespace

std::string quota_name(const Quota& quota) {
  std::string name;
  const auto add = [&name](const char* what, const std::string& value) {
    name += (name.empty() ? "" : " ") + std::string(what) + ':' + value;
  };
  if (!quota.client.empty()) add("client", quota.client);
  if (quota.uid) add("uid", quota.user.empty() ? std::to_string(*quota.uid) : quota.user);
  if (quota.gid) add("group", quota.group.empty() ? std::to_string(*quota.gid) : quota.group);
  return name;
}

bool same_match(const Quota& a, const Quota& b) {
  return a.client == b.client && a.uid == b.uid && a.gid == b.gid;
}

const Quota* quota_of(const std::vector<Quota>& quotas, std::string_view client, std::uint32_t uid,
                      std::span<const std::uint32_t> groups) {
  for (const Quota& quota : quotas) {
    if (quota.uid && *quota.uid != uid) continue;
    if (quota.gid && std::find(groups.begin(), groups.end(), *quota.gid) == groups.end()) continue;
    if (!quota.client.empty() && quota.client.back() == '*') {
      const std::string_view beginning(quota.client.data(), quota.client.size() - 1);
      if (!client.starts_with(beginning)) continue;
    } else if (!quota.client.empty() && quota.client != client) {
      continue;
    }
    return &quota;
  }
  return nullptr;
}

std::uint32_t granted_classes(const Quota* quota, std::uint32_t asked, std::uint32_t* downgraded) {
  asked &= kClientClassMask;
  *downgraded = 0;
  if (quota == nullptr) return asked;
  const std::uint32_t highest = bit_of(quota->highest_class);
  const std::uint32_t above = asked & (highest - 1);
  if (quota->over == OverClass::reject || above == 0) return asked & ~above;
  *downgraded = above;
  return (asked & ~above) | highest;
}

void parse_quotas(const ConfigValue& value, std::vector<Quota>* quotas,
                  std::vector<ConfigError>* errors) {
  const std::size_t before = errors->size();
  std::vector<Quota> parsed;
  const auto* rows = std::get_if<ConfigValue::Rows>(&value.content);
  const auto* list = std::get_if<ConfigValue::List>(&value.content);
  if ((rows == nullptr && (list == nullptr || !list->empty())) ||
      (rows != nullptr && rows->size() > kMostQuotas)) {
    errors->push_back(error_at(0, 0, "quotas", "bad value"));
    errors->back().value = value.raw;
    return;
  }
  for (std::size_t i = 0; rows != nullptr && i < rows->size(); ++i) {
    const ConfigRow& row = (*rows)[i];
    const std::string entry = "quotas[" + std::to_string(i) + ']';
    Quota quota;
    for (const ConfigMember& member : row.members) parse_member(member, entry, &quota, errors);
    if (errors->size() == before) check_entry(row, entry, quota, parsed, errors);
    parsed.push_back(std::move(quota));
  }
  if (errors->size() == before) *quotas = std::move(parsed);
}

std::string print_quotas(const std::vector<Quota>& quotas) {
  std::string out = "[";
  for (const Quota& quota : quotas)
    out += (out.size() > 1 ? ",\n    " : "\n    ") + print_quota(quota);
  return out + (quotas.empty() ? "]" : "\n  ]");
}

}  // namespace tentq
