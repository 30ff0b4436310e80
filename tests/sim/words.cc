// See words.h.
#include "tests/sim/words.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "daemon/config/keys.h"

namespace tentq::sim {
namespace {

constexpr std::int64_t kLongestNs = 86'400'000'000'000;  // a day
constexpr std::uint64_t kMostRate = 1'000'000'000'000;

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

// All of it is a number that is finite and not negative.
bool parse_real(std::string_view text, double* value) {
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), *value, std::chars_format::fixed);
  return error == std::errc{} && end == text.data() + text.size() && std::isfinite(*value) &&
         *value >= 0;
}

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == ',') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

bool is_name(std::string_view text) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return !text.empty() && is_letter(text[0]) && std::all_of(text.begin(), text.end(), [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

}  // namespace

std::string list_of(const std::vector<std::string_view>& words) {
  std::string list;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i != 0) list += i + 1 == words.size() ? " or " : ", ";
    list += words[i];
  }
  return list;
}

Words::Words(std::string_view path, std::size_t line, std::string_view text)
    : path_(path), line_(line) {
  text = text.substr(0, text.find('#'));
  std::size_t at = 0;
  while (at < text.size()) {
    if (is_blank(text[at])) {
      at += 1;
      continue;
    }
    const std::size_t begin = at;
    while (at < text.size() && !is_blank(text[at])) at += 1;
    words_.emplace_back(text.substr(begin, at - begin));
  }
}

std::string Words::text() const {
  std::string all;
  for (const std::string& word : words_) all += (all.empty() ? "" : " ") + word;
  return all;
}

void Words::fail(const std::string& wrong, const std::string& remedy) const {
  throw ScenarioError(path_ + ":" + std::to_string(line_) + ": " + wrong + "; " + remedy);
}

std::string Words::word(std::string_view what) {
  if (empty()) {
    fail("the line ends where " + std::string(what) + " should stand",
         "write " + std::string(what) + " there");
  }
  return words_[next_++];
}

std::string Words::name(std::string_view what) {
  const std::string text = word(what);
  if (!is_name(text)) {
    fail("`" + text + "` is no name",
         "write " + std::string(what) + " in letters, digits, - and _, beginning with a letter");
  }
  return text;
}

std::uint64_t Words::number(std::string_view what, std::uint64_t least, std::uint64_t most) {
  const std::string text = word(what);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < least || value > most) {
    fail("`" + text + "` is no " + std::string(what),
         "write a number from " + std::to_string(least) + " to " + std::to_string(most));
  }
  return value;
}

std::uint64_t Words::size(std::string_view what, std::uint64_t least, std::uint64_t most) {
  const std::string text = word(what);
  std::uint64_t value = 0;
  if (!parse_size(text, &value) || value < least || value > most) {
    fail("`" + text + "` is no " + std::string(what), "write bytes from " + print_size(least) +
                                                          " to " + print_size(most) +
                                                          ", such as 256KiB or 16MiB");
  }
  return value;
}

std::vector<std::uint64_t> Words::sizes(std::string_view what) {
  const std::string all = word(what);
  std::vector<std::uint64_t> values;
  for (const std::string& text : split(all)) {
    std::uint64_t value = 0;
    if (!parse_size(text, &value) || value == 0 || value > std::uint64_t{1} << 40) {
      fail("`" + text + "` in `" + all + "` is no " + std::string(what),
           "write bytes from 1B to 1TiB, such as 256KiB or 64KiB,1MiB");
    }
    values.push_back(value);
  }
  return values;
}

std::vector<std::string> Words::names(std::string_view what) {
  return split(word(what));
}

std::int64_t Words::duration_ns(std::string_view what) {
  const std::string text = word(what);
  Duration value{};
  if (!parse_duration(text, &value) || value.count() > kLongestNs) {
    fail("`" + text + "` is no " + std::string(what),
         "write a whole number and ns, us, ms, s, min or h, at most a day: 20us, 1500ms");
  }
  return value.count();
}

std::uint64_t Words::rate(std::string_view what) {
  constexpr std::array<std::pair<std::string_view, double>, 3> kUnits = {
      {{"GB/s", 1e9}, {"MB/s", 1e6}, {"KB/s", 1e3}}};
  const std::string text = word(what);
  for (const auto& [unit, factor] : kUnits) {
    double value = 0;
    if (text.size() <= unit.size() || !text.ends_with(unit)) continue;
    if (!parse_real(text.substr(0, text.size() - unit.size()), &value)) continue;
    const double bytes = std::round(value * factor);
    if (bytes >= 1 && bytes <= static_cast<double>(kMostRate)) {
      return static_cast<std::uint64_t>(bytes);
    }
  }
  fail("`" + text + "` is no " + std::string(what),
       "write KB/s, MB/s or GB/s behind a number above 0, at most 1000GB/s: 500MB/s, 1.25GB/s");
}

double Words::ratio(std::string_view what) {
  const std::string text = word(what);
  const bool percent = text.ends_with('%');
  double value = 0;
  if (!parse_real(percent ? text.substr(0, text.size() - 1) : text, &value)) {
    fail("`" + text + "` is no " + std::string(what), "write a part such as 20% or 0.2");
  }
  return percent ? value / 100 : value;
}

void Words::keyword(std::string_view expected) {
  const std::string text = word("`" + std::string(expected) + "`");
  if (text != expected) {
    fail("`" + text + "` is out of place", "write `" + std::string(expected) + "` there");
  }
}

std::size_t Words::one_of(std::string_view what, const std::vector<std::string_view>& known) {
  const std::string text = word(std::string(what) + ": " + list_of(known));
  const auto found = std::find(known.begin(), known.end(), text);
  if (found == known.end()) {
    fail("there is no " + std::string(what) + " `" + text + "`", "write " + list_of(known));
  }
  return static_cast<std::size_t>(found - known.begin());
}

void Words::end() const {
  if (!empty()) fail("`" + std::string(peek()) + "` is left over", "delete it");
}

}  // namespace tentq::sim
