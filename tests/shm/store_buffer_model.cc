#include "tests/shm/store_buffer_model.h"

#include <algorithm>
#include <string>
#include <unordered_set>

namespace tentq::shm::model {

using Kind = Instruction::Kind;
using Test = Instruction::Test;

int Program::push(const Instruction& step) {
  steps_.push_back(step);
  return here() - 1;
}

void Program::store(int word, int value, Order order) {
  push({.kind = Kind::store, .word = word, .value = value, .order = order});
}

void Program::add(int word, int value, Order order, int reg) {
  push({.kind = Kind::add, .word = word, .reg = reg, .value = value, .order = order});
}

void Program::load(int reg, int word) {
  push({.kind = Kind::load, .word = word, .reg = reg});
}

void Program::set(int reg, int value) {
  push({.kind = Kind::set, .reg = reg, .value = value});
}

int Program::jump_if_equal(int reg, int value) {
  return push({.kind = Kind::jump_if, .reg = reg, .value = value, .test = Test::equal});
}

int Program::jump_if_not_equal(int reg, int value) {
  return push({.kind = Kind::jump_if, .reg = reg, .value = value, .test = Test::not_equal});
}

int Program::jump_if_greater(int reg, int other_reg) {
  return push(
      {.kind = Kind::jump_if, .reg = reg, .other = other_reg, .test = Test::greater_than_register});
}

int Program::jump(int target) {
  return push({.kind = Kind::jump, .target = target});
}

void Program::futex_sleep(int word, int expected_reg) {
  push({.kind = Kind::futex_sleep, .word = word, .reg = expected_reg});
}

void Program::futex_wake(int word) {
  push({.kind = Kind::futex_wake, .word = word});
}

void Program::await(int word) {
  push({.kind = Kind::await, .word = word});
}

namespace {

struct Pending {
  int word, value;
  bool is_add, is_release;
};

struct Thread {
  int position = 0;
  int asleep_on = -1;
  int registers[kRegisters] = {};
  std::vector<Pending> buffer;
};

struct State {
  std::vector<int> words;
  std::vector<Thread> threads;

  std::string key() const {
    std::string key;
    const auto put = [&key](int value) { key.append(std::to_string(value)).push_back(','); };
    for (const int word : words) put(word);
    for (const Thread& thread : threads) {
      put(thread.position);
      put(thread.asleep_on);
      for (const int reg : thread.registers) put(reg);
      for (const Pending& p : thread.buffer) {
        put(p.word);
        put(p.value);
        put(p.is_add * 2 + p.is_release);
      }
      key.push_back(';');
    }
    return key;
  }
};

int applied(const Pending& pending, int before) {
  return pending.is_add ? before + pending.value : pending.value;
}

// What the thread itself sees of a word.
int visible(const State& state, const Thread& thread, int word) {
  int value = state.words[static_cast<std::size_t>(word)];
  for (const Pending& pending : thread.buffer) {
    if (pending.word == word) value = applied(pending, value);
  }
  return value;
}

bool may_flush(const std::vector<Pending>& buffer, std::size_t index) {
  if (buffer[index].is_release) return index == 0;
  return std::none_of(buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(index),
                      [&](const Pending& earlier) { return earlier.word == buffer[index].word; });
}

void write(State& state, Thread& thread, const Instruction& step) {
  const bool is_add = step.kind == Kind::add;
  if (is_add && step.reg >= 0) thread.registers[step.reg] = visible(state, thread, step.word);
  const Pending pending{step.word, step.value, is_add, step.order == Order::release};
  int& word = state.words[static_cast<std::size_t>(step.word)];
  if (step.order == Order::seq_cst) {
    word = applied(pending, word);
  } else {
    thread.buffer.push_back(pending);
  }
}

bool holds(const Thread& thread, const Instruction& step) {
  const int reg = thread.registers[step.reg];
  switch (step.test) {
    case Test::equal: return reg == step.value;
    case Test::not_equal: return reg != step.value;
    case Test::greater_than_register: return reg > thread.registers[step.other];
  }
  return false;
}

// Whether the step waits: for the own buffer, or for somebody else.
bool blocked(const State& state, const Thread& thread, const Instruction& step) {
  const bool needs_empty_buffer =
      ((step.kind == Kind::store || step.kind == Kind::add) && step.order == Order::seq_cst) ||
      step.kind == Kind::futex_sleep || step.kind == Kind::futex_wake || step.kind == Kind::await;
  if (needs_empty_buffer && !thread.buffer.empty()) return true;
  return step.kind == Kind::await && state.words[static_cast<std::size_t>(step.word)] == 0;
}

void execute(State& state, std::size_t which, const Instruction& step) {
  Thread& thread = state.threads[which];
  ++thread.position;
  switch (step.kind) {
    case Kind::store:
    case Kind::add: write(state, thread, step); break;
    case Kind::load: thread.registers[step.reg] = visible(state, thread, step.word); break;
    case Kind::set: thread.registers[step.reg] = step.value; break;
    case Kind::jump: thread.position = step.target; break;
    case Kind::jump_if:
      if (holds(thread, step)) thread.position = step.target;
      break;
    case Kind::futex_sleep:
      if (visible(state, thread, step.word) == thread.registers[step.reg]) {
        thread.asleep_on = step.word;
      }
      break;
    case Kind::futex_wake:
      for (Thread& other : state.threads) {
        if (other.asleep_on == step.word) other.asleep_on = -1;
      }
      break;
    case Kind::await: state.words[static_cast<std::size_t>(step.word)] = 0; break;
  }
}

// Every state that one step or one flushed store leads to.
std::vector<State> successors(const State& state, const std::vector<Program>& programs) {
  std::vector<State> next;
  for (std::size_t t = 0; t < state.threads.size(); ++t) {
    const Thread& thread = state.threads[t];
    for (std::size_t i = 0; i < thread.buffer.size(); ++i) {
      if (!may_flush(thread.buffer, i)) continue;
      State flushed = state;
      int& word = flushed.words[static_cast<std::size_t>(thread.buffer[i].word)];
      word = applied(thread.buffer[i], word);
      std::vector<Pending>& buffer = flushed.threads[t].buffer;
      buffer.erase(buffer.begin() + static_cast<std::ptrdiff_t>(i));
      next.push_back(std::move(flushed));
    }
    const auto& steps = programs[t].steps();
    const auto position = static_cast<std::size_t>(thread.position);
    if (position == steps.size() || thread.asleep_on >= 0) continue;
    if (blocked(state, thread, steps[position])) continue;
    State stepped = state;
    execute(stepped, t, steps[position]);
    next.push_back(std::move(stepped));
  }
  return next;
}

Outcome outcome_of(const State& state, const std::vector<Program>& programs) {
  Outcome outcome{state.words, {}, {}};
  for (std::size_t t = 0; t < programs.size(); ++t) {
    const Thread& thread = state.threads[t];
    outcome.registers.emplace_back(std::begin(thread.registers), std::end(thread.registers));
    outcome.finished.push_back(thread.asleep_on < 0 && thread.position == programs[t].here());
  }
  return outcome;
}

}  // namespace

Exploration explore(const std::vector<Program>& threads, int word_count) {
  State start;
  start.words.resize(static_cast<std::size_t>(word_count));
  start.threads.resize(threads.size());
  std::unordered_set<std::string> seen{start.key()};
  std::vector<State> open{start};
  Exploration result;
  while (!open.empty()) {
    const State state = std::move(open.back());
    open.pop_back();
    ++result.states;
    std::vector<State> next = successors(state, threads);
    if (next.empty()) result.outcomes.push_back(outcome_of(state, threads));
    for (State& successor : next) {
      if (seen.insert(successor.key()).second) open.push_back(std::move(successor));
    }
  }
  return result;
}

}  // namespace tentq::shm::model
