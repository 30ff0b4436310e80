// Documents of the daemon as tables for people. Each takes the JSON of one query (daemon/README.md
// lists the keys) and prints at most 100 columns. Throws nlohmann's exceptions on a document that
// lacks a key; the caller turns that into one line.
#pragma once

#include <nlohmann/json.hpp>

#include "client/ctl/output.h"

namespace tentq::ctl {

using Json = nlohmann::ordered_json;

void render_status(const Json& document, Output& to);
void render_queue(const Json& document, Output& to);
void render_errors(const Json& document, Output& to);
void render_clients(const Json& document, Output& to);
void render_segments(const Json& document, Output& to);
void render_lanes(const Json& document, Output& to);
void render_peers(const Json& document, Output& to);
void render_owners(const Json& document, Output& to);
void render_explain(const Json& document, Output& to);

}  // namespace tentq::ctl
