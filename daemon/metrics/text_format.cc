// Lines of the text format. See text_format.h.
#include "daemon/metrics/text_format.h"

namespace tentq {

namespace {

// Values of labels also escape the quote; everything else is UTF-8 as it is.
void append_escaped(std::string_view text, bool quoted, std::string* out) {
  for (const char c : text) {
    if (c == '\n') {
      *out += "\\n";
      continue;
    }
    if (c == '\\' || (c == '"' && quoted)) *out += '\\';
    *out += c;
  }
}

}  // namespace

std::string seconds_text(std::uint64_t ns) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  std::string text = std::to_string(ns / kSecond);
  if (ns % kSecond == 0) return text;
  const std::string digits = std::to_string(kSecond + ns % kSecond);  // a 1 before nine digits
  text += '.';
  text.append(digits, 1, digits.find_last_not_of('0'));
  return text;
}

void TextFormat::family(std::string_view name, std::string_view type, std::string_view help) {
  name_ = name;
  text_.append("# HELP ").append(name).append(" ");
  append_escaped(help, false, &text_);
  text_.append("\n# TYPE ").append(name).append(" ").append(type).append("\n");
}

void TextFormat::head(std::string_view suffix, const Labels& labels) {
  text_.append(name_).append(suffix);
  char before = '{';
  for (const auto& [label, value] : labels) {
    text_ += before;
    text_.append(label).append("=\"");
    append_escaped(value, true, &text_);
    text_ += '"';
    before = ',';
  }
  text_ += labels.size() == 0 ? " " : "} ";
}

void TextFormat::end(std::string_view value) {
  text_.append(value).append("\n");
}

void TextFormat::sample(const Labels& labels, std::uint64_t value) {
  head("", labels);
  end(std::to_string(value));
}

void TextFormat::seconds(const Labels& labels, std::uint64_t ns) {
  head("", labels);
  end(seconds_text(ns));
}

void TextFormat::histogram(std::string_view label, std::string_view value,
                           const Histogram& histogram) {
  std::uint64_t bound_ns = std::uint64_t{1} << Histogram::kFirstPower;
  for (const std::uint64_t count : histogram.cumulative()) {
    head("_bucket", {{label, value}, {"le", seconds_text(bound_ns)}});
    end(std::to_string(count));
    bound_ns *= 2;
  }
  const std::string all = std::to_string(histogram.total());
  head("_bucket", {{label, value}, {"le", "+Inf"}});
  end(all);
  head("_sum", {{label, value}});
  end(seconds_text(histogram.sum_ns()));
  head("_count", {{label, value}});
  end(all);
}

}  // namespace tentq
