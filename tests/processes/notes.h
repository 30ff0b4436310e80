// Waiting for notifications and for what became of them. Any process.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>

#include <vector>

#include "tests/processes/clients.h"
#include "tests/processes/daemon_fixture.h"

namespace tentq::test {

// Waits for the next notification without spinning; throws after kLong.
inline std::vector<ReceivedNotification> next_notifications(Client& client) {
  const int fd = need(client.completion_fd(), "completion_fd");
  const auto until = std::chrono::steady_clock::now() + kLong;
  while (std::chrono::steady_clock::now() < until) {
    need(client.drive(), "drive");
    NotificationBatch got = need(client.receive_notifications(), "receive");
    if (got.lost != 0) throw std::runtime_error("notifications were lost");
    if (!got.notifications.empty()) return std::move(got.notifications);
    pollfd entry{fd, POLLIN, 0};
    ::poll(&entry, 1, 1'000);
  }
  throw std::runtime_error("no notification came");
}

// Waits for a notification's outcome.
inline TaskStatus outcome(Client& client, NotificationId id) {
  TaskStatus status;
  EXPECT_TRUE(eventually(kLong, [&] {
    (void)client.drive();
    status = client.notification_status(id);
    return status.done();
  }));
  return status;
}

}  // namespace tentq::test
