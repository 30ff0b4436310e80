// An etcd of a test, in virtual time: keys, leases, revisions, a watch for each host, and the ways
// in which it can be away. Answers come when the test lets them, never from inside a call.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/directory/gateway.h"

namespace tentq::test {

class ScriptedEtcd {
 public:
  // The way of one host to it.
  class Way final : public directory::Gateway {
   public:
    explicit Way(ScriptedEtcd& etcd) : etcd_(etcd) {}
    void ask(directory::Line line, const directory::Call& call, Answered answered) override;
    void watch(std::int64_t revision, Told told) override;
    void stop_watch() override { told_ = nullptr; }
    void dispose(directory::KnownNames::Table) override {}

    // Everything that is asked is answered, and every change told. True if there was anything.
    bool deliver(Time now);
    // All later calls and the watch fail.
    void cut() { is_cut_ = true; }
    void mend() { is_cut_ = false; }
    // The next answer is lost, though the call is carried out.
    void lose_an_answer() { loses_ = true; }

   private:
    bool tell(Time now);

    ScriptedEtcd& etcd_;
    std::deque<std::pair<directory::Call, Answered>> asked_;
    Told told_;
    bool began_ = false;
    std::uint64_t cluster_ = 0;  // in which it began
    std::int64_t next_revision_ = 0;
    bool is_cut_ = false;
    bool loses_ = false;
  };

  // Leases that have ended take their keys along.
  void pass(Time now);
  // Revisions up to now can no longer be watched.
  void compact() { compacted_ = revision_; }
  void lose_data();
  // Somebody else's doing.
  void put(const std::string& name, const directory::Holder& holder);
  void remove(const std::string& name);
  const std::map<std::string, directory::Entry>& keys() const { return keys_; }
  std::size_t leases() const { return leases_.size(); }

 private:
  struct Lease {
    std::int64_t seconds = 0;
    Time ends{};
  };
  directory::Answer carry_out(const directory::Call& call, Time now);
  directory::Answer publish(const directory::PublishName& call);
  void change(const std::string& name, std::optional<directory::Entry> entry);
  void end_lease(std::int64_t lease);

  std::map<std::string, directory::Entry> keys_;
  std::map<std::int64_t, Lease> leases_;
  std::map<std::int64_t, directory::Change> history_;  // by revision
  std::int64_t revision_ = 1;
  std::int64_t compacted_ = 0;
  std::int64_t next_lease_ = 1000;
  std::uint64_t cluster_ = 1;
};

}  // namespace tentq::test
