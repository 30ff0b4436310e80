// The directory with its thread, its time and its etcd. Conductor thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "daemon/directory/directory.h"
#include "daemon/directory/etcd_gateway.h"
#include "daemon/settings.h"

namespace tentq {

class EtcdDirectory {
 public:
  // `self` as DirectoryTerms has it; the settings have been checked.
  EtcdDirectory(boost::asio::io_context& io, const DirectorySettings& settings,
                directory::Holder self, ErrorBook& errors);

  directory::Directory& names() { return names_; }
  const directory::Directory& names() const { return names_; }

 private:
  void wake_at(Time at);

  boost::asio::steady_timer timer_;
  std::optional<Time> wakes_;  // what the timer is set to
  directory::EtcdGateway gateway_;
  directory::Directory names_;
};

}  // namespace tentq
