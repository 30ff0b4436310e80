// Properties of the order in which chunks go: shares, ages, delays, independence of lanes. Each
// draws its own case from RapidCheck and fails by RC_ASSERT.
#pragma once

namespace tentq::core {

void shares_by_weight();              // P5
void idling_saves_nothing();          // P6
void old_heads_leave();               // P7
void foreground_waits_for_residue();  // P8
void jams_stay_in_their_lanes();      // P9

}  // namespace tentq::core
