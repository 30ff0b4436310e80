// The words of one line of a scenario file, taken one after the other; and the error that says what
// is wrong, where, and what to write instead.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tentq::sim {

// what(): `FILE:LINE: what is wrong; what to write instead`.
class ScenarioError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Words {
 public:
  // Everything from `#` on is a comment.
  Words(std::string_view path, std::size_t line, std::string_view text);

  std::size_t line() const { return line_; }
  bool empty() const { return next_ == words_.size(); }
  // All of the line, with one space between two words.
  std::string text() const;
  // The next word without taking it; empty at the end.
  std::string_view peek() const { return empty() ? std::string_view() : words_[next_]; }

  // Each takes one word and throws ScenarioError when there is none or it is of another form;
  // `what` is what stands in the place, for the error.
  std::string word(std::string_view what);
  std::string name(std::string_view what);  // letters, digits, `-`, `_`; begins with a letter
  std::uint64_t number(std::string_view what, std::uint64_t least, std::uint64_t most);
  std::uint64_t size(std::string_view what, std::uint64_t least, std::uint64_t most);
  std::vector<std::uint64_t> sizes(std::string_view what);  // 64KiB,1MiB
  std::vector<std::string> names(std::string_view what);    // a,b
  std::int64_t duration_ns(std::string_view what);          // 20us, 2s
  std::uint64_t rate(std::string_view what);                // 500MB/s, in bytes per second
  double ratio(std::string_view what);                      // 20%, 1.3
  void keyword(std::string_view expected);                  // exactly this word
  std::size_t one_of(std::string_view what, const std::vector<std::string_view>& known);
  // Throws when words are left.
  void end() const;

  [[noreturn]] void fail(const std::string& wrong, const std::string& remedy) const;

 private:
  std::string path_;
  std::size_t line_;
  std::vector<std::string> words_;
  std::size_t next_ = 0;
};

// "a, b or c".
std::string list_of(const std::vector<std::string_view>& words);

}  // namespace tentq::sim
