// Questions and commands: answers queries as JSON in a sealed memfd, so that no answer ever waits
// for its reader, and carries out what administrators ask for. Conductor thread only.
#pragma once

#include <string>

#include "daemon/control_channel.h"
#include "daemon/logging/error_book.h"
#include "daemon/settings.h"
#include "daemon/views.h"

namespace tentq {

// -1 when the host has no such group.
std::int64_t group_id_of(const std::string& name);

class Admin {
 public:
  // What commands change.
  class Control {
   public:
    virtual ~Control() = default;
    virtual StatusCode drain(std::string* text) = 0;
    virtual StatusCode resume(std::string* text) = 0;
    // `assignment` is KEY=VALUE.
    virtual StatusCode set(const std::string& assignment, std::string* text) = 0;
  };

  Admin(const Settings& settings, const Inspection& inspection, const ErrorBook& errors,
        Control& control);

  void query(ControlChannel& channel, const Query& message);
  void command(ControlChannel& channel, const Command& message);

 private:
  bool is_administrator(const ControlChannel& channel) const;

  const Inspection& inspection_;
  const ErrorBook& errors_;
  Control& control_;
  std::int64_t admin_gid_;
};

}  // namespace tentq
