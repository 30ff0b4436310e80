// See figure_names.h.
#include "tests/sim/figure_names.h"

#include "proto/check.h"

namespace tentq::sim {

const std::vector<FigureName>& figure_names() {
  constexpr bool kYes = true;
  constexpr bool kNo = false;
  static const std::vector<FigureName> names = {
      {Figure::p50, "p50", Unit::time, kYes, kNo, kNo, kNo, kNo, kYes,
       "half of the owners took no longer, from their intended submit to their end"},
      {Figure::p99, "p99", Unit::time, kYes, kNo, kNo, kNo, kNo, kYes, "the same of 99 %"},
      {Figure::p999, "p999", Unit::time, kYes, kNo, kNo, kNo, kNo, kYes, "the same of 99.9 %"},
      {Figure::samples, "samples", Unit::count, kYes, kNo, kNo, kNo, kNo, kYes,
       "owners that completed"},
      {Figure::failed, "failed", Unit::count, kYes, kNo, kNo, kNo, kNo, kYes,
       "owners that ended otherwise, or not at all"},
      {Figure::refused, "refused", Unit::count, kYes, kNo, kNo, kNo, kNo, kNo,
       "submits for which there was no credit yet, in the whole run"},
      {Figure::moved, "moved", Unit::bytes, kYes, kYes, kNo, kYes, kNo, kYes,
       "bytes that the lanes moved"},
      {Figure::share, "share", Unit::ratio, kYes, kNo, kNo, kNo, kNo, kYes,
       "moved / that of all clients"},
      {Figure::of_capacity, "of-capacity", Unit::ratio, kYes, kNo, kNo, kNo, kNo, kYes,
       "moved / what the lanes that they use could have moved"},
      {Figure::jain, "jain", Unit::ratio, kYes, kNo, kNo, kNo, kNo, kYes,
       "(sum x)^2 / (n sum x^2) over x = moved / weight of each client"},
      {Figure::largest_chunk, "largest-chunk", Unit::bytes, kYes, kNo, kNo, kNo, kNo, kNo,
       "longest piece of an owner that was handed over, in the whole run"},
      {Figure::within_p8, "within-p8", Unit::ratio, kYes, kNo, kNo, kNo, kNo, kYes,
       "part of the foreground owners that took, from their admission, no longer than P8 allows:\n"
       "    (others in flight + S + foreground outstanding then + foreground of other sessions "
       "that\n"
       "    came since) / rate + delay + jitter"},
      {Figure::p99_vs_reference, "p99-vs-reference", Unit::ratio, kYes, kNo, kNo, kNo, kYes, kYes,
       "p99 / that of the reference run"},
      {Figure::moved_vs_reference, "moved-vs-reference", Unit::ratio, kYes, kYes, kNo, kYes, kYes,
       kYes, "moved / that of the reference run"},
      {Figure::utilisation, "utilisation", Unit::ratio, kNo, kYes, kNo, kNo, kNo, kYes,
       "moved / (rate x time), the rate as it was at each time"},
      {Figure::peak_in_flight, "peak-in-flight", Unit::bytes, kNo, kYes, kNo, kYes, kNo, kNo,
       "most in flight at once, in the whole run; of hosts: towards any of them, of all senders"},
      {Figure::goodput, "goodput", Unit::ratio, kNo, kNo, kYes, kYes, kNo, kYes,
       "bytes of owners that completed / (rate x time) of all lanes; an owner counts when it ends. "
       "Of\n"
       "    hosts: moved / what their memories could have taken in"},
      {Figure::fairness, "fairness", Unit::ratio, kNo, kNo, kYes, kNo, kNo, kYes,
       "the least jain of the groups that keep work outstanding; 1 without any"},
      {Figure::peak_outstanding, "peak-outstanding", Unit::bytes, kNo, kNo, kYes, kNo, kNo, kNo,
       "most that was admitted and not ended, in the whole run; of several hosts: of any one"},
      {Figure::over_slots, "over-slots", Unit::count, kNo, kNo, kNo, kYes, kNo, kNo,
       "chunks that were handed over when more than `slots` was in flight towards their receiver"},
      {Figure::peak_granted, "peak-granted", Unit::bytes, kNo, kNo, kNo, kYes, kNo, kNo,
       "most credit that was out at once, of any of the hosts"},
      {Figure::over_bound, "over-bound", Unit::count, kNo, kNo, kNo, kYes, kNo, kNo,
       "chunks that were handed over when more was in flight than the receiver's bound and what "
       "it\n"
       "    states beside it"},
      {Figure::longest_wait, "longest-wait", Unit::time, kNo, kNo, kNo, kYes, kNo, kNo,
       "longest time in which a sender had something queued for one of the hosts, whose way was "
       "not\n    broken, and handed nothing over"},
  };
  return names;
}

const FigureName& named(Figure figure) {
  for (const FigureName& each : figure_names()) {
    if (each.figure == figure) return each;
  }
  check_failed("every figure has a name", __FILE__, __LINE__);
}

}  // namespace tentq::sim
