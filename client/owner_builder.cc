// Merging of adjacent requests. See owner_builder.h.
#include "client/owner_builder.h"

#include "proto/check.h"

namespace tentq::lib {

bool OwnerBuilder::extends(const Owner& last, const Placed& next,
                           const RemoteRanges& remote) const {
  return last.local_offset + last.length == next.local_offset &&
         last.remote_offset + last.length == next.remote_offset && last.op == next.op &&
         last.region == next.region && last.segment == next.segment &&
         last.length <= largest_owner_ && next.length <= largest_owner_ - last.length &&
         remote.in_one_region(last.remote_offset, last.length + next.length);
}

void OwnerBuilder::add(const Placed& next, const RemoteRanges& remote) {
  TENTQ_CHECK(task_count_ < tasks_.size());
  bytes_ = next.length > UINT64_MAX - bytes_ ? UINT64_MAX : bytes_ + next.length;
  Task& task = tasks_[task_count_++];
  task.length = next.length;
  if (merge_ && owner_count_ > 0 && extends(owners_[owner_count_ - 1], next, remote)) {
    Owner& last = owners_[owner_count_ - 1];
    task.owner = first_owner_ + owner_count_ - 1;
    task.offset = last.length;
    last.length += next.length;
    return;
  }
  task.owner = first_owner_ + owner_count_;
  task.offset = 0;
  Owner& owner = owners_[owner_count_++];
  owner.local_offset = next.local_offset;
  owner.remote_offset = next.remote_offset;
  owner.length = next.length;
  owner.region = next.region;
  owner.segment = next.segment;
  owner.call = call_;
  owner.op = next.op;
  owner.cancel_asked = false;
}

}  // namespace tentq::lib
