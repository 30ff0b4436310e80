// `tentqctl top`: the status page as a picture that renews itself. Needs nothing from the daemon.
#pragma once

#include <chrono>
#include <string>

#include "client/ctl/output.h"
#include "client/ctl/status_page_reader.h"

namespace tentq::ctl {

// One frame. `before` (may be null) is an older picture of the same daemon, for rates.
std::string draw_top(const StatusPicture& picture, const StatusPicture* before, Time now,
                     bool process_exists, bool terminal);
// The picture as one JSON object.
std::string top_json(const StatusPicture& picture, Time now, bool process_exists);

struct TopOptions {
  std::string page;
  bool once = false;
  std::chrono::milliseconds interval{1000};
};
// Live on a terminal until q or Ctrl-C; elsewhere, or with `once` or --json, a single frame.
int run_top(const TopOptions& options, Output& to);

}  // namespace tentq::ctl
