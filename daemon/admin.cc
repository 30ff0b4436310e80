// Queries and commands. See admin.h.
#include "daemon/admin.h"

#include <grp.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "daemon/queries/queries.h"
#include "shm/memory.h"

namespace tentq {

namespace {

// A memfd with the document, complete and unchangeable. Invalid when there is no memory.
shm::Fd document_fd(const std::string& document) {
  shm::Fd fd(::memfd_create("tentq-answer", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  std::size_t done = 0;
  while (fd.valid() && done < document.size()) {
    const ssize_t wrote = ::write(fd.get(), document.data() + done, document.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return {};
    done += static_cast<std::size_t>(wrote);
  }
  if (fd.valid() && shm::seal_future_write(fd.get()) != 0) return {};
  return fd;
}

}  // namespace

std::int64_t group_id_of(const std::string& name) {
  const group* entry = ::getgrnam(name.c_str());
  return entry == nullptr ? -1 : std::int64_t{entry->gr_gid};
}

Admin::Admin(const Settings& settings, const Inspection& inspection, const ErrorBook& errors,
             Control& control)
    : inspection_(inspection),
      errors_(errors),
      control_(control),
      admin_gid_(group_id_of(settings.admin_group)) {}

bool Admin::is_administrator(const ControlChannel& channel) const {
  if (!channel.admin()) return false;
  const shm::PeerCredentials& peer = channel.credentials();
  if (peer.uid == 0 || peer.uid == ::geteuid()) return true;
  if (admin_gid_ < 0) return false;
  const auto gid = static_cast<gid_t>(admin_gid_);
  return peer.gid == gid ||
         std::find(peer.groups.begin(), peer.groups.end(), gid) != peer.groups.end();
}

void Admin::query(ControlChannel& channel, const Query& message) {
  Caller caller;
  caller.uid = channel.credentials().uid;
  caller.admin = is_administrator(channel);
  if (channel.session() != nullptr) caller.own = channel.session()->id;
  const QueryAnswer answer = answer_query(message, inspection_, errors_, caller);
  auto reply = make_message<QueryReply>(message.header.request);
  reply.status = answer.status;
  reply.text.assign(answer.text);
  if (answer.status == StatusCode::ok) {
    const shm::Fd fd = document_fd(answer.document);
    if (fd.valid()) {
      reply.document_bytes = answer.document.size();
      const int fds[] = {fd.get()};
      channel.send(reply, fds);
      return;
    }
    reply.status = StatusCode::exhausted;
    reply.text.assign(std::string("no memory for the answer: ") + std::strerror(errno));
  }
  channel.send(reply);
}

void Admin::command(ControlChannel& channel, const Command& message) {
  auto reply = make_message<CommandReply>(message.header.request);
  std::string text;
  if (!is_administrator(channel)) {
    reply.status = StatusCode::not_permitted;
    text = "commands need the admin socket, as root or a member of the admin group";
  } else {
    switch (message.kind) {
      case CommandKind::drain: reply.status = control_.drain(&text); break;
      case CommandKind::resume: reply.status = control_.resume(&text); break;
      case CommandKind::set:
        reply.status = control_.set(std::string(message.argument.view()), &text);
        break;
      default:
        reply.status = StatusCode::invalid_argument;
        text = "unknown command; tentqctl and tentqd are of different versions";
    }
  }
  reply.text.assign(text);
  channel.send(reply);
}

}  // namespace tentq
