// setgroups, setresgid, setresuid, in this order.
#include "tests/processes/identity.h"

#include <grp.h>
#include <sys/prctl.h>

#include <cerrno>
#include <csignal>
#include <system_error>

namespace tentq::test {

void become(uid_t uid, gid_t gid, const std::vector<gid_t>& groups) {
  if (::setgroups(groups.size(), groups.data()) != 0 || ::setresgid(gid, gid, gid) != 0 ||
      ::setresuid(uid, uid, uid) != 0) {
    throw std::system_error(errno, std::generic_category(), "change of identity");
  }
  // A change of identity clears it.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
}

}  // namespace tentq::test
