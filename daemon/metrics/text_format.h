// Prometheus' text format, version 0.0.4: families of samples, one after the other. Appends to a
// text of its own; numbers are exact decimals. One thread.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "daemon/metrics/histogram.h"

namespace tentq {

class TextFormat {
 public:
  using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

  // `expected`: bytes that are made room for at once.
  explicit TextFormat(std::size_t expected = 0) { text_.reserve(expected); }

  // What follows are samples of `name`, in base units. Types: "counter", "gauge", "histogram".
  void family(std::string_view name, std::string_view type, std::string_view help);
  void sample(const Labels& labels, std::uint64_t value);
  // A duration, as seconds.
  void seconds(const Labels& labels, std::uint64_t ns);
  // With one label, to which `le` is added.
  void histogram(std::string_view label, std::string_view value, const Histogram& histogram);

  std::string take() { return std::move(text_); }

 private:
  void head(std::string_view suffix, const Labels& labels);
  void end(std::string_view value);

  std::string text_;
  std::string name_;  // of the family
};

// Nanoseconds as seconds, without zeros at the end: "0.000001024", "90".
std::string seconds_text(std::uint64_t ns);

}  // namespace tentq
