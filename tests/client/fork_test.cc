// A forked child shares nothing but says so.
#include <fcntl.h>
#include <sys/wait.h>

#include <functional>

#include "tests/client/fixture.h"

namespace tentq::testing {
namespace {

class Fork : public ClientTest {};

// Runs `check` in a forked child; true if it returned true there.
bool in_child(const std::function<bool()>& check) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(check() ? 0 : 1);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST_F(Fork, EveryCallInTheChildAnswersDaemonGone) {
  start();
  Pair pair(connect("store-0"), connect("engine-0"));
  const int completion = *pair.engine->completion_fd();
  Result<Batch> batch = pair.engine->allocate_batch(4);
  const Request request = pair.request(0, 100);
  ASSERT_TRUE(pair.engine->submit(*batch, {&request, 1}).ok());
  ASSERT_TRUE(batch->wait(kLong).ok());
  EXPECT_TRUE(in_child([&] {
    Client& client = *pair.engine;
    const auto gone = [](const Status& status) {
      return status.code() == Code::daemon_gone && status.text().find("fork") != std::string::npos;
    };
    bool ok = gone(client.submit(*batch, {&request, 1})) && gone(batch->wait(1s)) &&
              gone(client.allocate(4096).status()) && gone(client.drive()) &&
              gone(client.cancel(*batch, 0)) && gone(client.open_segment("store-0").status()) &&
              gone(client.completion_fd().status()) &&
              gone(client.send_notification(*pair.segment, "", "").status());
    ok = ok && batch->status(0).state == State::invalid && !client.attached();
    ok = ok && ::fcntl(completion, F_GETFD) < 0;  // its copies are closed
    client.free_batch(*batch);
    return ok;
  }));
  // The parent's goes on.
  ASSERT_TRUE(pair.engine->submit(*batch, {&request, 1}).ok());
  EXPECT_TRUE(batch->wait(kLong).ok());
  EXPECT_EQ(batch->status(0).state, State::completed);
}

TEST_F(Fork, TheChildMayDestroyWhatItInherited) {
  start();
  auto pair = std::make_unique<Pair>(connect("store-0"), connect("engine-0"));
  EXPECT_TRUE(in_child([&] {
    pair.reset();
    return true;
  }));
  EXPECT_EQ(daemon().snapshot().goodbyes, 0u);
  EXPECT_TRUE(pair->engine->attached());
}

}  // namespace
}  // namespace tentq::testing
