// Reading of the text format, line by line. See scraped.h.
#include "tests/support/scraped.h"

#include <algorithm>
#include <cmath>
#include <regex>
#include <sstream>
#include <stdexcept>

namespace tentq::test {

namespace {

[[noreturn]] void refuse(const std::string& what, const std::string& line) {
  throw std::runtime_error(what + ": " + line);
}

// Where the sample belongs: its name, for a histogram without the suffix.
std::string family_of(const std::string& name, const ScrapedFamily& current) {
  if (current.type != "histogram") return name;
  for (const char* suffix : {"_bucket", "_sum", "_count"}) {
    if (name == current.name + suffix) return current.name;
  }
  return name;
}

// `labels` without le="…", and its value; empty: there is none.
std::string take_bound(std::string* labels) {
  static const std::regex kBound(",?le=\"([^\"]*)\"");
  std::smatch match;
  if (!std::regex_search(*labels, match, kBound)) return {};
  const std::string bound = match[1];
  *labels = match.prefix().str() + match.suffix().str();
  return bound;
}

}  // namespace

Scraped::Scraped(const std::string& text) {
  if (text.empty() || text.back() != '\n') throw std::runtime_error("the last line has no end");
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("#")) {
      read_comment(line);
    } else {
      read_sample(line);
    }
  }
  check_histograms();
}

double Scraped::value(const std::string& sample) const {
  const auto found = samples_.find(sample);
  if (found == samples_.end()) throw std::runtime_error("no sample " + sample);
  return found->second;
}

void Scraped::read_comment(const std::string& line) {
  static const std::regex kHelp("# HELP ([a-z_][a-z0-9_]*) ((?:[^\\\\]|\\\\[\\\\n])+)");
  static const std::regex kType("# TYPE ([a-z_][a-z0-9_]*) (counter|gauge|histogram)");
  std::smatch match;
  if (std::regex_match(line, match, kHelp)) {
    for (const ScrapedFamily& known : families_) {
      if (known.name == match[1]) refuse("a family stands twice", line);
    }
    families_.push_back({match[1], {}, match[2]});
  } else if (std::regex_match(line, match, kType)) {
    if (families_.empty() || families_.back().name != match[1]) refuse("TYPE without HELP", line);
    if (!families_.back().type.empty()) refuse("TYPE twice", line);
    families_.back().type = match[2];
  } else {
    refuse("neither HELP nor TYPE", line);
  }
}

void Scraped::read_sample(const std::string& line) {
  static const std::string kLabel = "[a-z_][a-z0-9_]*=\"(?:[^\"\\\\]|\\\\[\"\\\\n])*\"";
  static const std::regex kSample("([a-z_][a-z0-9_]*)(\\{" + kLabel + "(?:," + kLabel +
                                  ")*\\})? ([0-9]+(?:\\.[0-9]+)?)");
  std::smatch match;
  if (!std::regex_match(line, match, kSample)) refuse("not a sample", line);
  if (families_.empty() || families_.back().type.empty()) refuse("before its family", line);
  if (family_of(match[1], families_.back()) != families_.back().name) {
    refuse("in another family", line);
  }
  const std::string key = match[1].str() + match[2].str();
  if (!samples_.emplace(key, std::stod(match[3])).second) refuse("a sample stands twice", line);
  order_.push_back(key);
}

void Scraped::check_histograms() const {
  std::map<std::string, std::pair<double, double>> last;  // series → bound, count
  for (const std::string& key : order_) {
    const auto brace = std::min(key.find('{'), key.size());
    const std::string name = key.substr(0, brace);
    if (!name.ends_with("_bucket")) continue;
    std::string labels = key.substr(brace);
    const std::string le = take_bound(&labels);
    const double bound = le == "+Inf" ? HUGE_VAL : std::stod(le);
    const std::string series = name.substr(0, name.size() - 7) + "|" + labels;
    const auto before = last.find(series);
    if (before != last.end() &&
        (bound <= before->second.first || value(key) < before->second.second)) {
      refuse("buckets do not grow", key);
    }
    last[series] = {bound, value(key)};
  }
  for (const auto& [series, end] : last) {
    const auto bar = series.find('|');
    const std::string name = series.substr(0, bar);
    const std::string labels = series.substr(bar + 1);
    if (end.first != HUGE_VAL) refuse("no bucket for all", series);
    if (end.second != value(name + "_count" + labels)) refuse("+Inf is not the count", series);
    (void)value(name + "_sum" + labels);
  }
}

}  // namespace tentq::test
