// The names of hosts whose certificates are let in, as the configuration writes them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tentq {

// Separated by commas, spaces around them do not count: names of hosts, which may begin with "*."
// for any one label, and IP addresses. False if something else is among them.
bool parse_name_list(std::string_view text, std::vector<std::string>* names);

}  // namespace tentq
