// Random operations on the core beside the naive model, the order of chunks, and the same decisions
// for the same seed. `--long` runs each property 20 times, and compares 10,000,000 operations with
// the model. RapidCheck prints the seed and, for what fails, the shortest operations that it finds.
#include <rapidcheck.h>

#include <cstdio>
#include <cstring>
#include <iostream>

#include "tests/core/model.h"
#include "tests/core/order_properties.h"

namespace {

using namespace tentq;
using namespace tentq::core;

rc::Gen<Step> step_gen() {
  const auto number = rc::gen::inRange<std::uint32_t>(0, 1u << 20);
  return rc::gen::build<Step>(
      rc::gen::set(&Step::kind, rc::gen::map(rc::gen::inRange<std::uint32_t>(0, kStepKinds + 7),
                                             [](std::uint32_t n) {
                                               // Chunks end more often than other things happen.
                                               return n < kStepKinds ? static_cast<StepKind>(n)
                                                                     : StepKind::end_chunk_well;
                                             })),
      rc::gen::set(&Step::a, number), rc::gen::set(&Step::b, number),
      rc::gen::set(&Step::c, number));
}

constexpr std::uint64_t kLongSteps = 10'000'000;
constexpr std::uint64_t kLongRounds = 20;

std::uint64_t steps_done = 0;  // of the first property

std::uint64_t run(std::uint64_t seed, const std::vector<Step>& ops) {
  Model model(seed);
  for (const Step& op : ops) model.apply(op);
  model.finish();
  return model.trace();
}

// P1 P2 P3 P4 P9 P10 P11 P12 P13 P16, after every operation; on average 2,000 of them a case.
void follows_the_model() {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const auto ops = *rc::gen::resize(4000, rc::gen::container<std::vector<Step>>(step_gen()));
  run(seed, ops);
  steps_done += ops.size();
}

// P14: a recorded list of events replays to the same decisions.
void decides_the_same() {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const auto ops = *rc::gen::resize(400, rc::gen::container<std::vector<Step>>(step_gen()));
  RC_ASSERT(run(seed, ops) == run(seed, ops));
}

// P15: with any one limit at zero nothing is admitted.
void zero_admits_nothing() {
  const auto level = *rc::gen::inRange(0, 9);
  const auto cls = static_cast<ClassId>(*rc::gen::inRange(1, 5));
  WorldShape shape;
  shape.limits = small_limits(64, kMiB);
  Amounts* limits[] = {&shape.limits.host, &shape.limits.client,
                       &shape.limits.classes[index_of(cls)].outstanding};
  Amounts& limit = *limits[level / 3];
  (level % 3 == 0 ? limit.owners : level % 3 == 1 ? limit.bytes : limit.extents) = 0;
  World world(shape);
  world.open_lane();
  world.open_session(0);
  for (int i = 0; i < 20; ++i) {
    world.want(0, cls, {1, 1, 1}, *rc::gen::arbitrary<bool>());
    world.submit(0, cls, *rc::gen::inRange<std::uint64_t>(1, kMiB));
  }
  RC_ASSERT(world.admitted.empty());
  RC_ASSERT(world.ended.size() == 20u);
  for (const OwnerEnded& end : world.ended) RC_ASSERT(!may_retry(end.reason));
}

// As rc::check(), but every round has a seed of its own: one process has one seed, and the same
// property would try the same cases again.
template <class Property>
bool check(const char* name, const Property& property, std::uint64_t round) {
  rc::detail::TestParams params = rc::detail::configuration().testParams;
  params.seed += round;
  rc::detail::TestMetadata metadata;
  metadata.id = metadata.description = name;
  std::cerr << "\n- " << name << ", seed " << params.seed << "\n";
  const auto result = rc::detail::checkTestable(property, metadata, params);
  rc::detail::printResultMessage(result, std::cerr);
  std::cerr << std::endl;
  return result.template is<rc::detail::SuccessResult>();
}

bool follows_for(std::uint64_t rounds, std::uint64_t steps) {
  for (std::uint64_t round = 0; round < rounds || steps_done < steps; ++round) {
    const std::uint64_t before = steps_done;
    if (!check("the core follows the model", follows_the_model, round)) return false;
    if (steps_done == before) break;  // RC_PARAMS asks for no case at all
  }
  return steps_done >= steps;
}

}  // namespace

int main(int argc, char** argv) {
  const bool is_long = argc > 1 && std::strcmp(argv[1], "--long") == 0;
  if (argc > (is_long ? 2 : 1)) {
    std::fprintf(stderr, "usage: %s [--long]\n", argv[0]);
    return 2;
  }
  const std::uint64_t rounds = is_long ? kLongRounds : 1;
  bool good = follows_for(rounds, is_long ? kLongSteps : 0);
  std::printf("%llu operations as the model says\n", static_cast<unsigned long long>(steps_done));
  for (std::uint64_t i = 0; i < rounds; ++i) {
    good = check("the same seed decides the same", decides_the_same, i) && good;
    good = check("a limit of zero admits nothing", zero_admits_nothing, i) && good;
    good = check("shares are by weight", shares_by_weight, i) && good;
    good = check("idling saves nothing", idling_saves_nothing, i) && good;
    good = check("old heads leave", old_heads_leave, i) && good;
    good = check("foreground waits for the residue only", foreground_waits_for_residue, i) && good;
    good = check("jams stay in their lanes", jams_stay_in_their_lanes, i) && good;
  }
  return good ? 0 : 1;
}
