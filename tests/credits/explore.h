// Explicit-state exploration, breadth first: every state that a model can reach within the bounds
// is audited once, so that the first trace to a fault is a shortest one. States are known by a hash
// of 64 bits; two that share one by chance count as one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tests/sim/broken_invariant.h"

namespace tentq::core {

struct ExploreBounds {
  std::uint32_t depth = 20;        // actions from the start
  std::size_t states = 1'000'000;  // most that are seen
};

struct Explored {
  std::size_t states = 0;
  std::size_t steps = 0;
  std::uint32_t depth = 0;         // up to which everything was seen
  bool complete = false;           // nothing is left: the bounds did not matter
  std::string fault;               // empty: none
  std::vector<std::string> trace;  // a shortest one to the fault

  std::string text() const {
    std::string all = std::to_string(states) + " states, " + std::to_string(steps) +
                      " steps, everything up to depth " + std::to_string(depth) +
                      (complete ? ", complete" : "");
    if (fault.empty()) return all;
    all += "\nfault: " + fault;
    for (const std::string& line : trace) all += "\n  " + line;
    return all;
  }
};

// Model: copyable; for_each_action(visit), apply(action), audit() and must_proceed() throw
// BrokenInvariant; hash(); name(action). Actions are plain values.
template <class Model>
class Exploration {
 public:
  using Action = typename Model::Action;

  Explored run(const Model& start, const ExploreBounds& bounds) {
    std::deque<Known> layer{{start, 0}};
    steps_.push_back({0, {}});
    seen_.insert(start.hash());
    for (std::uint32_t depth = 0; depth < bounds.depth; ++depth) {
      const bool last = depth + 1 == bounds.depth;
      std::deque<Known> next;
      for (const Known& known : layer) {
        known.model.for_each_action(
            [&](const Action& action) { step(start, known, action, last ? nullptr : &next); });
        if (!result_.fault.empty() || seen_.size() >= bounds.states) return finish();
      }
      result_.depth = depth + 1;
      result_.complete = !last && next.empty();
      if (result_.complete) break;
      layer = std::move(next);
    }
    return finish();
  }

 private:
  struct Known {
    Model model;
    std::size_t step;  // that led there
  };
  struct Step {
    std::size_t before;
    Action action;
  };

  void step(const Model& start, const Known& known, const Action& action, std::deque<Known>* next) {
    if (!result_.fault.empty()) return;
    result_.steps += 1;
    Model model = known.model;
    try {
      model.apply(action);
      model.audit();
      if (!seen_.insert(model.hash()).second) return;
      Model(model).must_proceed();
    } catch (const sim::BrokenInvariant& broken) {
      steps_.push_back({known.step, action});
      result_.fault = broken.what();
      result_.trace = trace_to(start, steps_.size() - 1);
      return;
    }
    if (next == nullptr) return;
    steps_.push_back({known.step, action});
    next->push_back({std::move(model), steps_.size() - 1});
  }
  std::vector<std::string> trace_to(const Model& start, std::size_t step) const {
    std::vector<Action> actions;
    for (; step != 0; step = steps_[step].before) actions.push_back(steps_[step].action);
    std::vector<std::string> lines;
    Model model = start;
    for (std::size_t i = actions.size(); i-- != 0;) {
      lines.push_back(model.name(actions[i]));
      if (i == 0) break;  // the last one may throw
      model.apply(actions[i]);
      lines.back() += "  → " + model.text();
    }
    return lines;
  }
  Explored finish() {
    result_.states = seen_.size();
    return result_;
  }

  std::unordered_set<std::uint64_t> seen_;
  std::vector<Step> steps_;
  Explored result_;
};

}  // namespace tentq::core
