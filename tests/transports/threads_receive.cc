// The transports under test receive on their threads alone.
#include "tests/transports/raw_peer.h"

namespace tentq::test {

const bool kConductorReceives = false;

}  // namespace tentq::test
