// Answers to the read-only questions of tentqctl and of clients, as JSON documents. Numbers carry
// their unit in the key's name. Called on the conductor; nothing here changes anything.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/logging/error_book.h"
#include "daemon/views.h"
#include "proto/control.h"

namespace tentq {

// Who asks. The client socket's callers see totals, and the rows of their own clients: those of
// their session and those that run under their uid.
struct Caller {
  std::uint32_t uid = 0;
  bool admin = false;  // came in over the admin socket
  SessionId own;       // invalid: not attached
};

struct QueryAnswer {
  StatusCode status = StatusCode::ok;
  std::string document;  // JSON, when ok
  std::string text;      // what is wrong and what to do, when not ok
};

// Errors: invalid_argument (unknown kind or argument), not_found (no such owner or client),
// not_permitted (somebody else's).
QueryAnswer answer_query(const Query& query, const Inspection& inspection, const ErrorBook& errors,
                         const Caller& caller);

// Most rows of an `owners` answer, unless the argument most= asks for fewer.
inline constexpr std::size_t kMostOwnerRows = 1000;
inline constexpr std::size_t kMostDirectoryNames = 1000;

}  // namespace tentq
