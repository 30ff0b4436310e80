// The parser is nlohmann's (SAX form, comments allowed). It reports no places, so the text is read
// through an iterator that counts: when a token is reported, the count is at the token's end.
#include "daemon/config/read_json.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

namespace tentq {
namespace {

constexpr std::size_t kMostDepth = 8;
constexpr std::size_t kShownBytes = 60;

std::string shortened(std::string_view text) {
  if (text.size() <= kShownBytes) return std::string(text);
  return std::string(text.substr(0, kShownBytes)) + "…";
}

// Reads a text and says how far it got.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, const char** reached) : at_(at), reached_(reached) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    *reached_ = ++at_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }
  bool operator!=(const CountingIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  const char** reached_;
};

class Collector : public nlohmann::json::json_sax_t {
 public:
  Collector(std::string_view text, std::string file)
      : text_(text), reached_(text.data()), file_(std::move(file)) {}

  JsonReading read() {
    CountingIterator first(text_.data(), &reached_);
    CountingIterator last(text_.data() + text_.size(), &reached_);
    nlohmann::json::sax_parse(first, last, this, nlohmann::json::input_format_t::json,
                              /*strict=*/true, /*ignore_comments=*/true);
    return std::move(reading_);
  }

  bool null() override { return scalar({}); }
  bool boolean(bool truth) override { return scalar({truth, {}}); }
  bool number_integer(number_integer_t number) override {
    return scalar({std::int64_t{number}, {}});
  }
  bool number_unsigned(number_unsigned_t number) override {
    return scalar({std::uint64_t{number}, {}});
  }
  bool number_float(number_float_t, const string_t&) override { return scalar({}); }
  bool string(string_t& text) override { return scalar({text, {}}); }
  bool binary(binary_t&) override { return scalar({}); }

  bool start_object(std::size_t) override {
    if (in_row_) return nested_list();
    if (in_list_) return start_row();
    if (depth_ == 0) return ++depth_, true;
    if (depth_ >= kMostDepth) return stop("nested too deeply", "at most 8 levels");
    PlacedValue value = here(1);
    value.section = true;
    reading_.values.push_back(std::move(value));
    scopes_.push_back(path_);
    ++depth_;
    return true;
  }
  bool end_object() override {
    if (in_row_) return end_row();
    if (--depth_ > 0) {
      scopes_.pop_back();
    }
    return true;
  }
  bool key(string_t& name) override {
    if (in_row_) return row_key(name);
    path_ = scopes_.empty() ? name : scopes_.back() + '.' + name;
    set_place(token_start());
    if (!seen_.insert(path_).second) {
      error("given twice", "each key at most once").key = path_;
    }
    return true;
  }
  bool start_array(std::size_t) override {
    if (in_list_) return nested_list();
    if (in_list_) return nested_list();
    if (depth_ == 0) return stop("not an object", "{ … } around all keys");
    list_ = here(1);
    list_.value.content = ConfigValue::List{};
    list_begin_ = static_cast<std::size_t>(reached_ - text_.data()) - 1;
    in_list_ = true;
    return true;
  }
  bool end_array() override {
    in_list_ = false;
    const auto end = static_cast<std::size_t>(reached_ - text_.data());
    list_.value.raw = shortened(text_.substr(list_begin_, end - list_begin_));
    reading_.values.push_back(std::move(list_));
    return true;
  }
  bool parse_error(std::size_t, const std::string&,
                   const nlohmann::detail::exception& exception) override {
    const std::size_t end = std::min<std::size_t>(offset(), text_.size());
    const std::size_t at = end == 0 ? 0 : end - 1;
    set_place(at);
    if (at < text_.size() && (text_[at] == '}' || text_[at] == ']') && comma_before(at)) {
      error("trailing comma", "no comma before the closing bracket");
      return false;
    }
    // "[json.exception.parse_error.101] parse error at line 3, column 5: syntax error …"
    std::string what = exception.what();
    const auto colon = what.find(": ");
    if (colon != std::string::npos) what.erase(0, colon + 2);
    error(what, "JSON with comments");
    return false;
  }

 private:
  std::size_t offset() const { return static_cast<std::size_t>(reached_ - text_.data()); }

  // Where the token that was just reported begins: the count may be one past its end.
  std::size_t token_start() const {
    std::size_t end = offset();
    while (end > 0 && !is_token_end(text_[end - 1])) --end;
    if (end == 0) return 0;
    std::size_t at = end - 1;
    if (text_[at] == '"') {
      while (at > 0) {
        --at;
        std::size_t slashes = 0;
        while (at > slashes && text_[at - 1 - slashes] == '\\') ++slashes;
        if (text_[at] == '"' && slashes % 2 == 0) return at;
      }
      return 0;
    }
    while (at > 0 && is_word(text_[at - 1])) --at;
    return at;
  }
  static bool is_word(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '+' || c == '.';
  }
  static bool is_token_end(char c) { return c == '"' || is_word(c); }

  // Whether the last thing before `at`, comments aside, is a comma.
  bool comma_before(std::size_t at) const {
    bool comma = false;
    for (std::size_t i = 0; i < at; ++i) {
      const char c = text_[i];
      if (c == '"') {
        for (++i; i < at && text_[i] != '"'; ++i) i += text_[i] == '\\' ? 1 : 0;
        comma = false;
      } else if (c == '/' && i + 1 < at && text_[i + 1] == '/') {
        while (i < at && text_[i] != '\n') ++i;
      } else if (c == '/' && i + 1 < at && text_[i + 1] == '*') {
        i = std::min(text_.find("*/", i + 2), at - 1) + 1;
      } else if (c != ' ' && c != '\t' && c != '\r' && c != '\n') {
        comma = c == ',';
      }
    }
    return comma;
  }

  void set_place(std::size_t at) {
    if (at < counted_to_) counted_to_ = counted_lines_ = 0;
    const std::string_view more = text_.substr(counted_to_, at - counted_to_);
    counted_lines_ += static_cast<unsigned>(std::count(more.begin(), more.end(), '\n'));
    counted_to_ = at;
    line_ = counted_lines_ + 1;
    const auto newline = at == 0 ? std::string_view::npos : text_.rfind('\n', at - 1);
    column_ = static_cast<unsigned>(newline == std::string_view::npos ? at : at - newline - 1) + 1;
  }
  // A value at the current path; `back` is how many bytes its first token has, 0 for a scalar.
  PlacedValue here(std::size_t back) {
    set_place(back == 0 ? token_start() : offset() - back);
    PlacedValue value;
    value.path = path_;
    value.line = line_;
    value.column = column_;
    return value;
  }
  // An object in a list: its members are plain values.
  bool start_row() {
    set_place(offset() - 1);
    row_ = {line_, column_, {}};
    in_row_ = true;
    return true;
  }
  bool end_row() {
    in_row_ = false;
    auto* list = std::get_if<ConfigValue::List>(&list_.value.content);
    if (list != nullptr && list->empty()) list_.value.content = ConfigValue::Rows{};
    auto* rows = std::get_if<ConfigValue::Rows>(&list_.value.content);
    if (rows != nullptr) {
      rows->push_back(std::move(row_));
    } else {
      list_.value.content = ConfigValue::Other{};  // numbers and objects: no key accepts it
    }
    return true;
  }
  bool row_key(const string_t& name) {
    set_place(token_start());
    const auto* rows = std::get_if<ConfigValue::Rows>(&list_.value.content);
    const bool twice =
        std::any_of(row_.members.begin(), row_.members.end(),
                    [&name](const ConfigMember& member) { return member.name == name; });
    if (twice) {
      const std::size_t index = rows == nullptr ? 0 : rows->size();
      error("given twice", "each key at most once").key =
          path_ + '[' + std::to_string(index) + "]." + name;
    }
    row_.members.push_back({name, 0, 0, {}});
    return true;
  }
  bool scalar(ConfigValue content) {
    if (in_row_) {
      ConfigMember& member = row_.members.back();
      const std::size_t start = token_start();
      set_place(start);
      member.line = line_;
      member.column = column_;
      member.value = std::move(content);
      member.value.raw = shortened(text_.substr(start, token_length(start)));
      return true;
    }
    if (in_list_) {
      auto* list = std::get_if<ConfigValue::List>(&list_.value.content);
      const auto* number = std::get_if<std::uint64_t>(&content.content);
      if (list != nullptr && number != nullptr) {
        list->push_back(*number);
      } else {
        list_.value.content = ConfigValue::Other{};  // no key accepts it
      }
      return true;
    }
    if (depth_ == 0) return stop("not an object", "{ … } around all keys");
    PlacedValue value = here(0);
    value.value = std::move(content);
    const std::size_t start = token_start();
    value.value.raw = shortened(text_.substr(start, token_length(start)));
    reading_.values.push_back(std::move(value));
    return true;
  }
  std::size_t token_length(std::size_t start) const {
    const std::size_t end = offset();
    std::size_t at = start + 1;
    if (text_[start] == '"') return end - start;
    while (at < end && is_word(text_[at])) ++at;
    return at - start;
  }
  bool nested_list() {
    return stop("nested in a list", "whole numbers, or objects of plain values");
  }
  bool stop(std::string message, std::string expected) {
    set_place(offset() == 0 ? 0 : offset() - 1);
    error(std::move(message), std::move(expected)).key = path_;
    return false;
  }
  ConfigError& error(std::string message, std::string expected) {
    ConfigError found;
    found.file = file_;
    found.line = line_;
    found.column = column_;
    found.message = std::move(message);
    found.expected = std::move(expected);
    reading_.errors.push_back(std::move(found));
    return reading_.errors.back();
  }

  std::string_view text_;
  const char* reached_;
  std::string file_;
  JsonReading reading_;
  std::vector<std::string> scopes_;
  std::set<std::string> seen_;
  std::string path_;
  std::size_t depth_ = 0;
  bool in_list_ = false;
  bool in_row_ = false;  // of the list
  ConfigRow row_;
  PlacedValue list_;
  std::size_t list_begin_ = 0;
  unsigned line_ = 0, column_ = 0;
  std::size_t counted_to_ = 0;  // newlines before this offset are in counted_lines_
  unsigned counted_lines_ = 0;
};

bool nothing_but_space_and_comments(std::string_view text) {
  while (!text.empty()) {
    const auto begin = text.find_first_not_of(" \t\r\n");
    if (begin == std::string_view::npos) return true;
    text.remove_prefix(begin);
    const bool line = text.starts_with("//");
    if (!line && !text.starts_with("/*")) return false;
    const auto end = line ? text.find('\n') : text.find("*/", 2);
    if (end == std::string_view::npos) return line;
    text.remove_prefix(end + (line ? 1 : 2));
  }
  return true;
}

}  // namespace

JsonReading read_json(std::string_view text, const std::string& file) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  if (nothing_but_space_and_comments(text)) return {};
  return Collector(text, file).read();
}

ConfigValue read_single_value(std::string_view text) {
  const std::string wrapped = "{\"value\": " + std::string(text) + "\n}";
  JsonReading reading = read_json(wrapped, "");
  if (reading.errors.empty() && reading.values.size() == 1 && !reading.values[0].section) {
    return reading.values[0].value;
  }
  return {std::string(text), shortened(text)};
}

}  // namespace tentq
