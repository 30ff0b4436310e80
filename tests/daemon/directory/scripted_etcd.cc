// See scripted_etcd.h.
#include "tests/daemon/directory/scripted_etcd.h"

#include "daemon/overloaded.h"

namespace tentq::test {

using namespace directory;  // NOLINT: its messages are what this file is about

void ScriptedEtcd::Way::ask(Line, const Call& call, Answered answered) {
  asked_.emplace_back(call, std::move(answered));
}

void ScriptedEtcd::Way::watch(std::int64_t revision, Told told) {
  told_ = std::move(told);
  next_revision_ = revision;
  began_ = false;
}

bool ScriptedEtcd::Way::deliver(Time now) {
  bool any = false;
  while (!asked_.empty()) {
    const auto [call, answered] = std::move(asked_.front());
    asked_.pop_front();
    const Failed away{Fault::unreachable, "scripted:2379", "cut"};
    Answer answer = is_cut_ ? Answer{away} : etcd_.carry_out(call, now);
    if (std::exchange(loses_, false)) answer = away;
    answered(answer, now);
    any = true;
  }
  while (told_ && tell(now)) any = true;
  return any;
}

bool ScriptedEtcd::Way::tell(Time now) {
  const Told told = told_;
  const auto fail = [&](Fault fault) {
    told_ = nullptr;
    told(Failed{fault, "scripted:2379", "cut"}, now);
    return true;
  };
  // It was started anew.
  const bool is_other = began_ && cluster_ != etcd_.cluster_;
  if (is_cut_ || is_other) return fail(Fault::unreachable);
  if (!began_) {
    if (next_revision_ <= etcd_.compacted_) return fail(Fault::compacted);
    began_ = true;
    cluster_ = etcd_.cluster_;
    told(WatchBegan{etcd_.cluster_, etcd_.revision_}, now);
    return true;
  }
  const auto next = etcd_.history_.lower_bound(next_revision_);
  if (next == etcd_.history_.end()) return false;
  next_revision_ = next->first + 1;
  told(Changes{next->first, {next->second}}, now);
  return true;
}

void ScriptedEtcd::change(const std::string& name, std::optional<Entry> entry) {
  ++revision_;
  if (entry) {
    entry->modified = revision_;
    keys_[name] = *entry;
  } else {
    keys_.erase(name);
  }
  history_[revision_] = Change{name, std::move(entry)};
}

void ScriptedEtcd::put(const std::string& name, const Holder& holder) {
  change(name, Entry{name, holder, 0, 0});
}

void ScriptedEtcd::remove(const std::string& name) {
  change(name, std::nullopt);
}

void ScriptedEtcd::end_lease(std::int64_t lease) {
  leases_.erase(lease);
  std::vector<std::string> gone;
  for (const auto& [name, entry] : keys_) {
    if (entry.lease == lease) gone.push_back(name);
  }
  for (const std::string& name : gone) remove(name);
}

void ScriptedEtcd::pass(Time now) {
  std::vector<std::int64_t> ended;
  for (const auto& [id, lease] : leases_) {
    if (lease.ends <= now) ended.push_back(id);
  }
  for (const std::int64_t id : ended) end_lease(id);
}

void ScriptedEtcd::lose_data() {
  keys_.clear();
  leases_.clear();
  history_.clear();
  revision_ = 1;
  compacted_ = 0;
  ++cluster_;
}

Answer ScriptedEtcd::publish(const PublishName& call) {
  if (!leases_.contains(call.lease)) return Failed{Fault::lease_lost, {}, "lease not found"};
  const auto it = keys_.find(call.name);
  const std::int64_t there = it == keys_.end() ? 0 : it->second.modified;
  if (there != call.replaces) {
    if (it == keys_.end()) return Published{Claim::vacant, {}};
    return Published{Claim::held, it->second};
  }
  change(call.name, Entry{call.name, call.holder, call.lease, 0});
  return Published{Claim::done, {}};
}

Answer ScriptedEtcd::carry_out(const Call& call, Time now) {
  return std::visit(
      Overloaded{
          [&](const GrantLease& c) -> Answer {
            leases_[++next_lease_] = {c.seconds, now + std::chrono::seconds{c.seconds}};
            return Leased{next_lease_, c.seconds};
          },
          [&](const KeepLease& c) -> Answer {
            const auto it = leases_.find(c.lease);
            if (it == leases_.end()) return Leased{c.lease, 0};
            it->second.ends = now + std::chrono::seconds{it->second.seconds};
            return Leased{c.lease, it->second.seconds};
          },
          [&](const RevokeLease& c) -> Answer {
            if (!leases_.contains(c.lease)) return Failed{Fault::lease_lost, {}, "not found"};
            end_lease(c.lease);
            return Revoked{};
          },
          [&](const PublishName& c) { return publish(c); },
          [&](const WithdrawName& c) -> Answer {
            const auto it = keys_.find(c.name);
            if (it != keys_.end() && it->second.lease == c.lease) remove(c.name);
            return Withdrawn{};
          },
          [&](const ListNames& c) -> Answer {
            Listed page{cluster_, revision_, {}, c.after, false};
            for (auto it = keys_.upper_bound(c.after); it != keys_.end(); ++it) {
              if (page.entries.size() == 2) {
                page.more = true;
                break;
              }
              page.entries.push_back(it->second);
              page.last = it->first;
            }
            return page;
          },
          [&](const FindName& c) -> Answer {
            const auto it = keys_.find(c.name);
            return it == keys_.end() ? Found{} : Found{it->second};
          },
      },
      call);
}

}  // namespace tentq::test
