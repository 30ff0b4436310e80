// unshare() for the networks, iproute2 for what is in them.
#include "tests/namespaces/namespaces.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "tests/support/program.h"

namespace tentq::test {
namespace {

constexpr std::uint32_t kMostHosts = 64;
// What a limited link holds back before it drops, at its rate.
constexpr const char* kQueueTime = "50ms";
constexpr const char* kNobody = "02:00:00:00:00:01";  // a hardware address that no device has

struct Made {
  shm::Fd fd;
  int error = 0;
};

// By a thread that ends there: this process stays where it is.
Made make_network() {
  Made made;
  std::thread maker([&made] {
    if (::unshare(CLONE_NEWNET) == 0) {
      made.fd.reset(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
    }
    made.error = made.fd.valid() ? 0 : errno;
  });
  maker.join();
  return made;
}

std::string program(const std::string& name) {
  for (const char* folder : {"/usr/sbin/", "/sbin/", "/usr/bin/", "/bin/"}) {
    const std::string path = folder + name;
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return {};
}

std::string why_none(int error) {
  return std::string("network namespaces cannot be made: ") + std::strerror(error) +
         "; run it as root, or where user namespaces are allowed as "
         "`unshare --user --map-root-user COMMAND`";
}

// The two ends of a link: on host 0 one for each other host.
std::string device(std::uint32_t end, std::uint32_t host) {
  return end == 0 ? "to" + std::to_string(host) : "to0";
}

// Veth devices have made-up hardware addresses; these are known beforehand.
std::string hardware(std::uint32_t end, std::uint32_t host) {
  std::array<char, 18> text{};
  std::snprintf(text.data(), text.size(), "02:77:00:00:%02x:%02x", end == 0 ? 1u : 2u, host);
  return text.data();
}

std::string address_of(std::uint32_t end, std::uint32_t host) {
  return "10.77." + std::to_string(host) + (end == 0 ? ".1" : ".2");
}

}  // namespace

std::string Namespaces::missing() {
  for (const char* name : {"ip", "tc"}) {
    if (program(name).empty()) {
      return std::string("there is no program `") + name + "`; install the package iproute2";
    }
  }
  const Made made = make_network();
  return made.fd.valid() ? std::string() : why_none(made.error);
}

Namespaces::Namespaces(std::uint32_t hosts) {
  if (hosts < 2 || hosts > kMostHosts) {
    throw std::runtime_error("2 to " + std::to_string(kMostHosts) + " hosts are possible");
  }
  const std::string lacks = missing();
  if (!lacks.empty()) throw std::runtime_error(lacks);
  for (std::uint32_t host = 0; host < hosts; ++host) {
    Made made = make_network();
    if (!made.fd.valid()) throw std::runtime_error(why_none(made.error));
    held_.push_back(std::move(made.fd));
    run(host, {"ip", "link", "set", "lo", "up"});
  }
  for (std::uint32_t host = 1; host < hosts; ++host) join_to_first(host);
}

// The other end is named by this process's descriptor of its network, which is in /proc.
void Namespaces::join_to_first(std::uint32_t host) const {
  const std::string there =
      "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(held_[host].get());
  run(0, {"ip", "link", "add", device(0, host), "address", hardware(0, host), "type", "veth",
          "peer", "name", device(host, host), "address", hardware(host, host), "netns", there});
  for (const std::uint32_t end : {0u, host}) {
    run(end, {"ip", "address", "add", address_of(end, host) + "/24", "dev", device(end, host)});
    run(end, {"ip", "link", "set", device(end, host), "up"});
  }
}

std::string Namespaces::address(std::uint32_t host, std::uint32_t from) const {
  return host == 0 ? address_of(0, from) : address_of(host, host);
}

void Namespaces::run(std::uint32_t host, std::vector<std::string> words) const {
  words[0] = program(words[0]);
  const Outcome outcome = run_program(words, [this, host] {
    if (::setns(fd(host), CLONE_NEWNET) != 0) ::_exit(126);
  });
  if (outcome.exit_code == 0) return;
  std::string line;
  for (const std::string& word : words) line += word + " ";
  throw std::runtime_error(line + "ended with " + std::to_string(outcome.exit_code) + ": " +
                           outcome.output);
}

void Namespaces::limit(std::uint32_t host, std::uint64_t bytes_per_second) const {
  // The largest piece that TCP hands down, and no more: a link does not save up while it is idle,
  // to be faster than itself afterwards. At high rates what comes between two looks of its timer.
  const std::uint64_t burst = std::max<std::uint64_t>(bytes_per_second / 20'000, 68u << 10);
  for (const std::uint32_t end : {0u, host}) {
    if (bytes_per_second == 0) {
      run(end, {"tc", "qdisc", "replace", "dev", device(end, host), "root", "pfifo"});
      continue;
    }
    run(end, {"tc", "qdisc", "replace", "dev", device(end, host), "root", "tbf", "rate",
              std::to_string(8 * bytes_per_second) + "bit", "burst", std::to_string(burst),
              "latency", kQueueTime});
  }
}

void Namespaces::cut(std::uint32_t host) const {
  run(0, {"ip", "link", "set", device(0, host), "down"});
}

void Namespaces::join(std::uint32_t host) const {
  run(0, {"ip", "link", "set", device(0, host), "up"});
}

void Namespaces::swallow(std::uint32_t host) const {
  for (const std::uint32_t end : {0u, host}) {
    run(end, {"ip", "neighbour", "replace", address_of(end == 0 ? host : 0, host), "lladdr",
              kNobody, "nud", "permanent", "dev", device(end, host)});
  }
}

void Namespaces::pass(std::uint32_t host) const {
  for (const std::uint32_t end : {0u, host}) {
    run(end, {"ip", "neighbour", "replace", address_of(end == 0 ? host : 0, host), "lladdr",
              hardware(end == 0 ? host : 0, host), "nud", "reachable", "dev", device(end, host)});
  }
}

void enter(int network) {
  if (::setns(network, CLONE_NEWNET) != 0) {
    throw std::system_error(errno, std::generic_category(), "cannot enter a network namespace");
  }
}

}  // namespace tentq::test
