// The process-wide log behind log.h. A log is the one thing here that is global: every part writes
// to it, none reads it.
#include "daemon/logging/log.h"

#include <fcntl.h>
#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>

#include "daemon/logging/descriptor_sink.h"

namespace tentq {
namespace {

constexpr std::array<spdlog::level::level_enum, 4> kLevels = {
    spdlog::level::debug, spdlog::level::info, spdlog::level::warn, spdlog::level::err};
// Syslog priorities, by LogLevel.
constexpr std::array<char, 4> kPriorities = {'7', '6', '4', '3'};

spdlog::level::level_enum to_spdlog(LogLevel level) {
  return kLevels[static_cast<std::size_t>(level)];
}

// "<6>": what systemd takes as the priority of a line on standard error.
class PriorityFlag final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& out) override {
    for (std::size_t i = 0; i < kLevels.size(); ++i) {
      if (message.level == kLevels[i]) out.push_back(kPriorities[i]);
    }
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<PriorityFlag>();
  }
};

bool stderr_is_socket() {
  struct stat facts {};
  return ::fstat(STDERR_FILENO, &facts) == 0 && S_ISSOCK(facts.st_mode);
}

int open_file(const std::string& path) {
  return ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0640);
}

struct Log {
  std::shared_ptr<DescriptorSink> sink = std::make_shared<DescriptorSink>(STDERR_FILENO, false);
  spdlog::logger logger{"tentqd", sink};
  std::string file;

  Log() { set_pattern(stderr_is_socket()); }
  void set_pattern(bool journal) {
    auto formatter = std::make_unique<spdlog::pattern_formatter>();
    formatter->add_flag<PriorityFlag>('*');
    formatter->set_pattern(journal ? "<%*>%v" : "%Y-%m-%dT%H:%M:%S.%e%z %l: %v");
    sink->set_formatter(std::move(formatter));
    // Our sink reports nothing; whatever spdlog itself finds must not go to its own handler,
    // which would write to standard error and could block.
    logger.set_error_handler([](const std::string&) {});
  }
};

Log& the_log() {
  static Log log;
  return log;
}

}  // namespace

bool open_log(const LogSettings& settings, std::string* why) {
  std::signal(SIGPIPE, SIG_IGN);
  Log& log = the_log();
  set_log_level(settings.level);
  if (settings.file.empty()) return true;
  const int fd = open_file(settings.file);
  if (fd < 0) {
    *why = "cannot open the log file " + settings.file + ": " + std::strerror(errno) +
           "; logging to standard error";
    return false;
  }
  log.file = settings.file;
  log.sink->replace(fd);
  log.set_pattern(false);
  return true;
}

void reopen_log() {
  Log& log = the_log();
  if (log.file.empty()) return;
  const int fd = open_file(log.file);
  if (fd >= 0) log.sink->replace(fd);
}

void set_log_level(LogLevel level) {
  the_log().logger.set_level(to_spdlog(level));
}
bool is_logged(LogLevel level) {
  return the_log().logger.should_log(to_spdlog(level));
}
std::uint64_t lost_log_lines() {
  return the_log().sink->lost_lines();
}

void log_text(LogLevel level, std::string_view text) {
  the_log().logger.log(to_spdlog(level), spdlog::string_view_t(text.data(), text.size()));
}

std::string escaped(std::string_view text, std::size_t most) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  for (const char c : text.substr(0, most)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\\') {
      out += "\\\\";
    } else if (byte >= 0x20 && byte < 0x7f) {
      out += c;
    } else {
      out += "\\x";
      out += kHex[byte >> 4];
      out += kHex[byte & 15u];
    }
  }
  if (text.size() > most) out += "...";
  return out;
}

}  // namespace tentq
