// Base64 as etcd's gateway writes keys and values.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tentq::directory {

std::string to_base64(std::string_view bytes);
// Nothing when it is no base64 with its padding.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace tentq::directory
