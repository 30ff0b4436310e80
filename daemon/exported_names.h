// Which names this host publishes in the directory: those of segments of which other hosts may
// reach something. Conductor thread.
#pragma once

#include <set>
#include <string>

#include "daemon/directory/directory.h"
#include "daemon/segments.h"

namespace tentq {

class ExportedNames final : Segments::Watcher {
 public:
  ExportedNames(const Regions& regions, Segments& segments, directory::Directory& directory)
      : regions_(regions), directory_(directory) {
    segments.watch(*this);
  }

 private:
  // Segments::Watcher
  void region_added(const Segment& segment, RegionIndex region) override;
  void region_removed(const Segment& segment, RegionIndex region) override;
  void exporter_changed(const Segment& segment, Reason reason) override;

  bool is_for_others(RegionIndex region) const {
    return regions_.at(region).remote_access != RegionAccess::none;
  }
  void withdraw(const std::string& name);

  const Regions& regions_;
  directory::Directory& directory_;
  std::set<std::string, std::less<>> names_;
};

}  // namespace tentq
