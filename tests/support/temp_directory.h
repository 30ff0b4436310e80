// A directory of a test's or benchmark's own, removed with everything in it at the end. Any thread.
#pragma once

#include <string>

namespace tentq::test {

class TempDirectory {
 public:
  // Makes PREFIX-XXXXXX below $TMPDIR or /tmp, mode 0700. Throws std::system_error.
  explicit TempDirectory(const std::string& prefix);
  ~TempDirectory();
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace tentq::test
