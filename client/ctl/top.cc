// The loop of `top`: the terminal in raw mode on its second screen, renewed at each interval.
#include "client/ctl/top.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "shm/fd.h"

namespace tentq::ctl {
namespace {

constexpr char kEnterScreen[] = "\x1b[?1049h\x1b[?25l";
constexpr char kLeaveScreen[] = "\x1b[?25h\x1b[?1049l";
constexpr char kHome[] = "\x1b[H";
constexpr char kClearLine[] = "\x1b[K";
constexpr char kClearBelow[] = "\x1b[J";

// The terminal without echo and line editing, given back at the end; so is what SIGINT, SIGTERM
// and SIGHUP do: here they end the loop, so that the terminal is never left as it is.
class RawTerminal {
 public:
  explicit RawTerminal(std::ostream& out) : out_(out) {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
    ::sigprocmask(SIG_BLOCK, &signals, &old_signals_);
    signals_ = shm::Fd(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
    has_input_ = ::tcgetattr(STDIN_FILENO, &old_input_) == 0;
    if (has_input_) {
      termios raw = old_input_;
      raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
      ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    }
    out_ << kEnterScreen;
  }
  ~RawTerminal() {
    out_ << kLeaveScreen << std::flush;
    if (has_input_) ::tcsetattr(STDIN_FILENO, TCSANOW, &old_input_);
    ::sigprocmask(SIG_SETMASK, &old_signals_, nullptr);
  }
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;

  // True: the user wants to leave. False: the interval is over.
  bool wait(std::chrono::milliseconds interval) {
    const auto end = std::chrono::steady_clock::now() + interval;
    for (;;) {
      const auto left =
          std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
      if (left.count() <= 0) return false;
      pollfd wanted[2] = {{has_input_ ? STDIN_FILENO : -1, POLLIN, 0}, {signals_.get(), POLLIN, 0}};
      if (::poll(wanted, 2, static_cast<int>(left.count())) <= 0) continue;
      if (wanted[1].revents != 0) {
        // Taken from the queue: unblocked in the end, it would still kill us.
        signalfd_siginfo taken;
        return ::read(signals_.get(), &taken, sizeof(taken)) > 0;
      }
      char key = 0;
      if (wanted[0].revents == 0) continue;
      if (::read(STDIN_FILENO, &key, 1) != 1 || key == 'q' || key == 'Q') return true;
    }
  }

 private:
  std::ostream& out_;
  sigset_t old_signals_{};
  shm::Fd signals_;
  termios old_input_{};
  bool has_input_ = false;
};

// Draws over the last frame without clearing the screen first, which would flicker.
void show(const std::string& frame, std::ostream& out) {
  out << kHome;
  std::size_t begin = 0;
  while (begin < frame.size()) {
    const auto end = std::min(frame.find('\n', begin), frame.size());
    out << frame.substr(begin, end - begin) << kClearLine << '\n';
    begin = end + 1;
  }
  out << tinted("q quits", Tint::dim, true) << kClearLine << kClearBelow << std::flush;
}

}  // namespace

int run_top(const TopOptions& options, Output& to) {
  StatusPicture picture;
  std::string why;
  if (!to.terminal || options.once || to.json) {
    if (!read_status_page(options.page, &picture, &why)) {
      to.err << "tentqctl: " << why << '\n';
      return kExitFailed;
    }
    const Time now = monotonic_now();
    const bool exists = process_exists(picture.body->pid);
    if (to.json) {
      to.out << top_json(picture, now, exists) << '\n';
    } else {
      to.out << draw_top(picture, nullptr, now, exists, to.terminal);
    }
    return kExitOk;
  }
  RawTerminal terminal(to.out);
  StatusPicture before;
  do {
    StatusPicture next;
    if (!read_status_page(options.page, &next, &why)) {
      show(wrapped(why, kMostColumns, 2) + '\n', to.out);
      continue;
    }
    before = std::move(picture);
    picture = std::move(next);
    show(draw_top(picture, before.body ? &before : nullptr, monotonic_now(),
                  process_exists(picture.body->pid), true),
         to.out);
  } while (!terminal.wait(options.interval));
  return kExitOk;
}

}  // namespace tentq::ctl
