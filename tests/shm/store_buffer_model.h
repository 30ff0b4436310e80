// A small exhaustive checker for protocols on shared words: threads as lists of instructions, each
// with a store buffer. It tries every interleaving of instructions and of buffered stores becoming
// visible, and returns every state in which nothing can move any more.
//
// What it models: a seq_cst store or addition is visible at once, after all earlier ones of its
// thread. A release one waits in the buffer until all earlier ones of its thread are visible. A
// relaxed one waits too, and may overtake those of other words. Loads are performed in order, and
// see the own buffer first; so it finds missing seq_cst and release, but not a missing acquire.
#pragma once

#include <cstddef>
#include <vector>

namespace tentq::shm::model {

enum class Order { relaxed, release, seq_cst };

// Words and registers are small numbers; every word and register starts as 0.
struct Instruction {
  enum class Kind { store, add, load, jump_if, jump, set, futex_sleep, futex_wake, await };
  Kind kind{};
  int word = 0;
  int reg = 0;
  int value = 0;
  int other = 0;   // register to compare with
  int target = 0;  // of jumps
  Order order = Order::seq_cst;
  enum class Test { equal, not_equal, greater_than_register } test{};
};

// One thread's program, written down step by step. Jump targets are positions; here() gives one.
class Program {
 public:
  int here() const { return static_cast<int>(steps_.size()); }
  void store(int word, int value, Order order);
  // reg (if ≥ 0) gets the value before.
  void add(int word, int value, Order order, int reg = -1);
  void load(int reg, int word);
  void set(int reg, int value);
  // Jumps return their own position, for aim().
  int jump_if_equal(int reg, int value);
  int jump_if_not_equal(int reg, int value);
  int jump_if_greater(int reg, int other_reg);
  int jump(int target = 0);
  void aim(int jump_position, int target) {
    steps_[static_cast<std::size_t>(jump_position)].target = target;
  }
  // As the kernel does it: waits for the own stores, compares, sleeps; one step.
  void futex_sleep(int word, int expected_reg);
  // Wakes all sleepers of the word.
  void futex_wake(int word);
  // Blocks until the word (an fd's readiness) is not 0, then makes it 0.
  void await(int word);
  const std::vector<Instruction>& steps() const { return steps_; }

 private:
  int push(const Instruction& step);
  std::vector<Instruction> steps_;
};

struct Outcome {
  std::vector<int> words;
  std::vector<std::vector<int>> registers;  // by thread
  std::vector<bool> finished;               // by thread; false: it sleeps for ever
};

inline constexpr int kRegisters = 6;

struct Exploration {
  std::vector<Outcome> outcomes;  // distinct
  std::size_t states = 0;
};
Exploration explore(const std::vector<Program>& threads, int word_count);

}  // namespace tentq::shm::model
