// The daemon's side of the read-only status page (proto/status_page.h): made beside and renamed
// over its path, then written through the daemon's own mapping. One thread (the conductor).
#pragma once

#include <boost/interprocess/mapped_region.hpp>
#include <memory>
#include <string>

#include "daemon/logging/error_book.h"
#include "daemon/views.h"
#include "proto/status_page.h"

namespace tentq {

// What the page tells of the process itself.
struct StatusPageIdentity {
  std::string socket_path;
  std::string admin_socket_path;
  Time started{};
};

class StatusPageWriter {
 public:
  // Makes the file with all its memory (mode 0444) and puts it in place of an older one. nullptr:
  // *why says what failed; the daemon can go on without a page.
  static std::unique_ptr<StatusPageWriter> create(const std::string& path,
                                                  const StatusPageIdentity& identity,
                                                  std::string* why);
  // Leaves the file: its last state and heartbeat stay readable after the daemon's end.
  ~StatusPageWriter() = default;
  StatusPageWriter(const StatusPageWriter&) = delete;
  StatusPageWriter& operator=(const StatusPageWriter&) = delete;

  // A new picture and a heartbeat; no system call. O(classes + lanes + errors).
  void update(const Inspection& inspection, const ErrorBook& errors);
  // The heartbeat alone: one store.
  void beat(Time now);

 private:
  StatusPageWriter(boost::interprocess::mapped_region region, const StatusPageIdentity& identity);
  StatusPage* page() const { return static_cast<StatusPage*>(region_.get_address()); }

  boost::interprocess::mapped_region region_;
  std::unique_ptr<StatusPageBody> body_;  // built here, then stored as a whole
  unsigned next_copy_ = 0;
};

}  // namespace tentq
