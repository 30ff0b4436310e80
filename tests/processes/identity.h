// Taking another user's identity in a forked role; for tests of rights, which need root.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <vector>

namespace tentq::test {

// A uid and gid without any rights, as `nobody` has on Debian.
inline constexpr uid_t kStranger = 65'534;
inline constexpr gid_t kStrangerGroup = 65'534;
inline constexpr uid_t kOther = 65'533;

inline bool is_root() {
  return ::geteuid() == 0;
}
// Groups, gid and uid of the whole process, for good; dies with its parent all the same. Throws
// std::system_error.
void become(uid_t uid, gid_t gid, const std::vector<gid_t>& groups = {});

}  // namespace tentq::test
