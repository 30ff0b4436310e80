// Quotas as the configuration has them: reading, printing, what is wrong with them, and whom each
// is for. Nothing here keeps state; call it from any thread. Bytes.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/config/config.h"
#include "daemon/config/keys.h"
#include "daemon/settings.h"

namespace tentq {

inline constexpr std::size_t kMostQuotas = 256;
// The longest quota_name(): three conditions with their words.
inline constexpr std::size_t kMostQuotaNameBytes = 127;

// Whom it is for, as one word or a few: "client:store-*", "uid:1000 group:batch".
std::string quota_name(const Quota& quota);
// Whether both are for the same sessions, by the same conditions.
bool same_match(const Quota& a, const Quota& b);

// The first of `quotas` that is for such a session; null: none. `groups` with the primary one.
const Quota* quota_of(const std::vector<Quota>& quotas, std::string_view client, std::uint32_t uid,
                      std::span<const std::uint32_t> groups);

// Classes that a session gets which asks for `asked`: those that the quota allows. What is above
// the highest is put into that one, if the quota says so: it is in *downgraded. Null: no quota.
std::uint32_t granted_classes(const Quota* quota, std::uint32_t asked, std::uint32_t* downgraded);

// Appends what is wrong, each with its place; *quotas is changed only when nothing is.
void parse_quotas(const ConfigValue& value, std::vector<Quota>* quotas,
                  std::vector<ConfigError>* errors);
// A JSON list, a quota a line.
std::string print_quotas(const std::vector<Quota>& quotas);

}  // namespace tentq
