// Where the directory's etcd is asked, as configurations write it:
// "http://etcd-0:2379, http://10.0.0.7:2379".
#pragma once

#include <string_view>
#include <vector>

#include "daemon/config/peer_address.h"

namespace tentq {

// Separated by commas, spaces around them do not count. False if something else is among them:
// https, too, which is not spoken.
bool parse_directory_endpoints(std::string_view text, std::vector<PeerAddress>* endpoints);

// A text that keys in etcd begin with: "/" and 1 to 200 of letters, digits, '.', '_', '-' and '/'.
bool is_directory_prefix(std::string_view text);

}  // namespace tentq
