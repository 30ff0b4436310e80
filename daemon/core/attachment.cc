// Sessions come, state what they need, and go.
#include "daemon/core/state.h"

namespace tentq::core {

void State::on(const SessionOpened& event) {
  TENTQ_CHECK(event.session.value() < sessions_.count() && event.client.value() < maxima.clients);
  const std::uint32_t index = event.session.value();
  Session& session = sessions_[index];
  TENTQ_CHECK(!session.open);
  session.open = true;
  session.client = event.client.value();
  session.class_mask = event.class_mask & (kClientClassMask | bit_of(ClassId::internal));
  session.slots = event.slots;
  Amounts limit = event.limit;
  limit.owners = std::min<std::uint64_t>(limit.owners, event.slots);
  accounts_.set_session_limit(index, limit);
  picker_.forget_session(index);
  on(ClientChanged{event.client, event.weight, event.in_flight_bytes, event.outstanding});
  credit_.open(index, session.client, session.class_mask, event.replayed);
}

void State::on(const SessionClosed& event) {
  if (!sessions_.takes_work(event.session)) return;
  const std::uint32_t index = event.session.value();
  sessions_[index].closing = true;
  credit_.close(index);
  sessions_.start_purge(index, Reason::canceled);
  more_to_do_ = purge_some() || more_to_do_;
}

void State::on(const ClientChanged& event) {
  if (event.client.value() >= maxima.clients) return;
  const std::uint32_t client = event.client.value();
  picker_.set_client_weight(client, event.weight);
  if (client_caps_.is_held(client)) let_client_go(client);
  client_caps_.set_most(client, event.in_flight_bytes);
  if (accounts_.set_client_limit(client, event.outstanding)) credit_.limits_changed();
}

void State::on(const CreditConsumed& event) {
  if (!sessions_.takes_work(event.session) || index_of(event.cls) >= kMaxClasses) return;
  credit_.consumed(event.session.value(), static_cast<std::uint32_t>(index_of(event.cls)),
                   event.consumed);
}

void State::on(const CreditWanted& event) {
  if (!sessions_.takes_work(event.session) || index_of(event.cls) >= kMaxClasses) return;
  credit_.wanted(event.session.value(), static_cast<std::uint32_t>(index_of(event.cls)),
                 event.wanted, event.consumed, event.waiting);
}

}  // namespace tentq::core
