// What an owner's outcome says about the daemon's verdict on it.
#pragma once

#include "client/owner.h"
#include "tentq/types.hpp"

namespace tentq::lib {

// ok when it was accepted, however it ended afterwards; else why it was refused.
Status verdict_of(const OwnerView& owner);

}  // namespace tentq::lib
