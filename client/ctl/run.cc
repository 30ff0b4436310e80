// The commands with their options, and which of them asks, orders or looks for itself.
#include "client/ctl/run.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "client/ctl/daemon_link.h"
#include "client/ctl/doctor.h"
#include "client/ctl/render.h"
#include "client/ctl/top.h"
#include "proto/version.h"

namespace tentq::ctl {
namespace {

struct Options {
  std::string socket;
  std::string page;
  std::string by;
  std::string client;
  std::string state;
  std::string owner;
  std::string assignment;
  bool of_hosts = false;
  bool once = false;
  double interval_seconds = 1;
};

int exit_code(StatusCode status) {
  if (status == StatusCode::ok) return kExitOk;
  return status == StatusCode::invalid_argument ? kExitUsage : kExitFailed;
}

// What went wrong: one line for people, an object for programs.
int fail(StatusCode status, const std::string& text, Output& to) {
  const std::string shown =
      text.empty() ? std::string(to_string(status)) + ": " + std::string(remedy(status)) : text;
  if (to.json) {
    const Json json = {{"error", {{"status", to_string(status)}, {"text", shown}}}};
    to.out << json.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
  } else {
    to.err << "tentqctl: " << printable(shown) << '\n';
  }
  return exit_code(status);
}

int ask(const Places& places, QueryKind kind, const std::string& argument,
        void (*render)(const Json&, Output&), Output& to) {
  DaemonLink link;
  std::string why;
  if (!link.connect(places, &why)) return fail(StatusCode::daemon_gone, why, to);
  const Answer answer = link.query(kind, argument);
  if (answer.status != StatusCode::ok) return fail(answer.status, answer.text, to);
  try {
    if (to.json) {
      to.out << answer.document << '\n';
    } else {
      render(Json::parse(answer.document), to);
    }
  } catch (const Json::exception&) {
    return fail(StatusCode::incompatible,
                "the daemon's answer has another form; update tentqctl and tentqd together", to);
  }
  return kExitOk;
}

int order(const Places& places, CommandKind kind, const std::string& argument, Output& to) {
  DaemonLink link;
  std::string why;
  if (!link.connect(places, &why)) return fail(StatusCode::daemon_gone, why, to);
  const Answer answer = link.command(kind, argument);
  if (answer.status != StatusCode::ok) return fail(answer.status, answer.text, to);
  if (to.json) {
    const Json json = {{"status", "ok"}, {"text", answer.text}};
    to.out << json.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
  } else {
    to.out << printable(answer.text.empty() ? std::string_view("done") : answer.text) << '\n';
  }
  return kExitOk;
}

int show_version(Output& to) {
  const std::string protocol =
      std::to_string(kProtocolMajor) + '.' + std::to_string(kProtocolMinor);
  if (to.json) {
    to.out << Json{{"version", kProductVersion}, {"protocol", protocol}}.dump() << '\n';
  } else {
    to.out << "tentqctl " << kProductVersion << ", protocol " << protocol << '\n';
  }
  return kExitOk;
}

// The commands and their options.
class CommandLine {
 public:
  explicit CommandLine(Options* options, bool* json) {
    app.require_subcommand(0, 1);
    app.fallthrough();
    app.add_option("--socket", options->socket,
                   "The daemon's socket (default: admin.sock if it opens, else tentqd.sock)");
    app.add_flag("--json", *json, "Print one JSON object");
    app.set_version_flag("--version", std::string("tentqctl ") + kProductVersion);
    app.footer("Exit codes: 0 done, 1 failed or refused, 2 wrong command line or argument.");
    app.add_subcommand("status", "Version, state, totals, transports, warnings");
    CLI::App* queue = app.add_subcommand("queue", "Depth, bytes, oldest age, in flight, per class");
    queue->add_option("--by", options->by, "Also a row for each client, lane or other host")
        ->check(CLI::IsMember({"client", "lane", "peer"}));
    app.add_subcommand("clients", "Attached clients");
    CLI::App* segments = app.add_subcommand("segments", "Exported segments");
    segments->add_flag("--hosts", options->of_hosts,
                       "Also those of other hosts: open here, and in the directory");
    app.add_subcommand("lanes", "Lanes and their windows");
    app.add_subcommand("peers", "Other hosts: links, and what goes between");
    CLI::App* owners = app.add_subcommand("owners", "What is queued or in flight, oldest first");
    owners->add_option("--client", options->client, "Only this client's (id or name)")
        ->check(is_word("a client's id or name"));
    owners->add_option("--state", options->state, "Only those in this state")
        ->check(CLI::IsMember({"queued", "route_pending", "dispatching", "submitted", "draining"}));
    app.add_subcommand("explain", "Why an owner waits")
        ->add_option("owner", options->owner, "The number that `owners` shows")
        ->required()
        ->check(is_number());
    CLI::App* top = app.add_subcommand("top", "The same live; works when the daemon hangs");
    top->add_flag("--once", options->once, "Print one frame and end");
    top->add_option("--interval", options->interval_seconds, "Seconds between frames")
        ->check(CLI::Range(0.1, 3600.0));
    top->add_option("--page", options->page, "The status page (default: beside the socket)");
    app.add_subcommand("errors", "Distinct errors, and what to do");
    app.add_subcommand("drain", "Take no new work (admin)");
    app.add_subcommand("resume", "Take work again (admin)");
    app.add_subcommand(
           "set",
           "Change a setting at run time (admin), e.g. policy=strict, or the weight of a "
           "client, e.g. clients.store-0.weight=4; gone with a restart unless the "
           "configuration says the same")
        ->add_option("assignment", options->assignment, "KEY=VALUE")
        ->required()
        ->check(is_assignment());
    app.add_subcommand("doctor", "Check this host, with a remedy for each finding")
        ->add_option("--page", options->page, "The status page (default: beside the socket)");
    app.add_subcommand("version", "Versions of tentqctl and its protocol");
  }

  CLI::App app{"Look into and steer tentqd, the transfer admission daemon", "tentqctl"};

 private:
  // A word of a query: no spaces, which would be taken for another argument.
  static CLI::Validator is_word(const char* what) {
    return {[what](std::string& text) {
              const bool good = !text.empty() && text.find(' ') == std::string::npos;
              return good ? std::string() : std::string("expected ") + what;
            },
            ""};
  }
  static CLI::Validator is_number() {
    return {[](std::string& text) {
              const bool good = text.find_first_not_of("0123456789") == std::string::npos;
              return good ? std::string() : "expected an owner's number, not `" + text + '`';
            },
            ""};
  }
  static CLI::Validator is_assignment() {
    return {[](std::string& text) {
              const auto equals = text.find('=');
              const bool good = equals != std::string::npos && equals != 0;
              return good ? std::string() : "expected KEY=VALUE, for example policy=strict";
            },
            ""};
  }
};

struct QueryCommand {
  std::string_view name;
  QueryKind kind;
  void (*render)(const Json&, Output&);
};
constexpr QueryCommand kQueries[] = {
    {"status", QueryKind::status, render_status},
    {"queue", QueryKind::queue, render_queue},
    {"clients", QueryKind::clients, render_clients},
    {"segments", QueryKind::segments, render_segments},
    {"lanes", QueryKind::lanes, render_lanes},
    {"owners", QueryKind::owners, render_owners},
    {"explain", QueryKind::explain, render_explain},
    {"errors", QueryKind::errors, render_errors},
    {"peers", QueryKind::peers, render_peers},
};

std::string query_argument(const Options& options) {
  std::string out;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) out += (out.empty() ? "" : " ") + std::string(name) + '=' + value;
  };
  add("by", options.by);
  add("client", options.client);
  add("state", options.state);
  add("owner", options.owner);
  add("of", options.of_hosts ? "hosts" : "");
  return out;
}

int dispatch(const std::string& command, const Options& options, const std::string& variable,
             Output& to) {
  Places places = find_places(options.socket, variable, /*changes=*/false);
  if (!options.page.empty()) places.status_page = options.page;
  for (const QueryCommand& query : kQueries) {
    if (query.name == command) {
      return ask(places, query.kind, query_argument(options), query.render, to);
    }
  }
  if (command == "top") {
    const auto interval = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::duration<double>(options.interval_seconds));
    return run_top({places.status_page, options.once, interval}, to);
  }
  if (command == "doctor") {
    HostPaths paths;
    paths.places = places;
    return run_doctor(paths, to);
  }
  if (command == "version") return show_version(to);
  places = find_places(options.socket, variable, /*changes=*/true);
  if (command == "drain") return order(places, CommandKind::drain, {}, to);
  if (command == "resume") return order(places, CommandKind::resume, {}, to);
  return order(places, CommandKind::set, options.assignment, to);
}

}  // namespace

int run(const std::vector<std::string>& words, const std::string& socket_variable, Output to) {
  Options options;
  CommandLine line(&options, &to.json);
  try {
    // CLI11 takes the words in reverse.
    line.app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& error) {
    return line.app.exit(error, to.out, to.err) == 0 ? kExitOk : kExitUsage;
  }
  if (line.app.get_subcommands().empty()) {
    to.err << line.app.help();
    return kExitUsage;
  }
  return dispatch(line.app.get_subcommands().front()->get_name(), options, socket_variable, to);
}

}  // namespace tentq::ctl
