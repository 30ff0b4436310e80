// See reports.h.
#include "transports/tcp/reports.h"

#include <memory>

namespace tentq {

Reports::~Reports() {
  while (const EventMail* mail = events_.take()) delete mail;
  while (const EventMail* mail = spare_.take()) delete mail;
}

void Reports::report(const TcpEvent& event) {
  EventMail* mail = nullptr;
  {
    const std::lock_guard lock(taking_);
    mail = spare_.take();
  }
  if (mail == nullptr) mail = std::make_unique<EventMail>().release();
  mail->event = event;
  events_.push(mail);
  wakeup_->ring();
}

bool Reports::take_event(TcpEvent* event) {
  EventMail* mail = events_.take();
  if (mail == nullptr) return false;
  *event = mail->event;
  spare_.push(mail);
  return true;
}

}  // namespace tentq
