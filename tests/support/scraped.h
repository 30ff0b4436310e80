// Metrics as a scraper reads them: a strict reader of Prometheus' text format 0.0.4. Throws
// std::runtime_error, with the line, at anything that the format does not allow.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace tentq::test {

struct ScrapedFamily {
  std::string name;
  std::string type;  // "counter", "gauge", "histogram"
  std::string help;
};

class Scraped {
 public:
  explicit Scraped(const std::string& text);

  const std::vector<ScrapedFamily>& families() const { return families_; }
  // All samples, by name and labels as written: `tentq_queue_depth{class="default"}`.
  const std::map<std::string, double>& samples() const { return samples_; }
  bool has(const std::string& sample) const { return samples_.count(sample) != 0; }
  // Throws when there is no such sample.
  double value(const std::string& sample) const;

 private:
  void read_comment(const std::string& line);
  void read_sample(const std::string& line);
  // Of every histogram: buckets grow, +Inf is there and is the count.
  void check_histograms() const;

  std::vector<ScrapedFamily> families_;
  std::map<std::string, double> samples_;
  std::vector<std::string> order_;  // of the samples
};

}  // namespace tentq::test
