// The transports under test receive on the conductor what is little.
#include "tests/transports/raw_peer.h"

namespace tentq::test {

const bool kConductorReceives = true;

}  // namespace tentq::test
