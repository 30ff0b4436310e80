// What `tentq-sim --help` says about scenario files and figures.
#pragma once

namespace tentq::sim {

inline constexpr char kStatements[] =
    R"(A scenario has one statement a line; # begins a comment. Sizes: 4096, 256KiB, 1GiB; times: 20us, 2s;
rates: 500MB/s; ratios: 20%, 0.2. Names stand above where they are used.
  duration 10s | warmup 1s | seed 1 | policy direct|fifo|strict|wdrr | check every N (events)
  limits [owners N] [bytes SIZE] [client-owners N] [client-bytes SIZE] [age-max TIME]
         [largest-owner SIZE] [client-in-flight SIZE]
  class NAME [weight N] [strict yes] [in-flight SIZE] [reserve SIZE] [owners N] [bytes SIZE]
  lane NAME rate RATE [delay TIME] [jitter TIME] [window SIZE] [chunks N] [chunk SIZE|auto]
         [adaptive TIME (delay target; window is the ceiling then)] [floor SIZE]
  client NAME class NAME lane NAME[,NAME] size SIZE[,SIZE] LOAD [count N] [sessions N] [weight N]
         [in-flight SIZE] [from TIME] [until TIME] [arrivals poisson|fixed]
    LOAD: open 20% (of the rate of its first lane, the group together: an open loop)
          closed N [think TIME] (each session blocks with N owners outstanding; TIME: mean, exponential,
          from an end to the next submit)
          flood SIZE (the group keeps that many bytes outstanding) | once N (owners of each session)
  at TIME lane NAME rate RATE | delay TIME | jam TIME (how long nothing comes back)
  at TIME policy NAME | at TIME class NAME weight N
  phase NAME from TIME to TIME
  reference only CLIENT[,CLIENT] | reference without changes|credits   (a second run, to compare with)
  expect client NAME|class NAME|lane NAME|host|hosts NAME FIGURE <=|>=|= VALUE [in PHASE]
Several hosts, in place of `lane`; data leaves by an uplink, travels, and waits for the other's memory:
  hosts NAME [count N] [uplink RATE] [memory RATE] [slots SIZE (that it would have at most in flight)]
         [legacy 30% (of them do not speak credits)]
  network [delay TIME (one way)] [lost 1%] [doubled 1%] [late TIME]   (the last three: of messages)
  credits on|off [chunk SIZE] [boot SIZE] [legacy SIZE] [ttl TIME] [demand TIME] [gap TIME]
         [probe TIME] [queue TIME (target)]
  path [window SIZE] [chunks N] [chunk SIZE|auto] [adaptive TIME] [floor SIZE]   (of each lane)
  client NAME on HOSTS to HOSTS [op write|read|both] class NAME size SIZE LOAD ...   (counts and
         loads are of each host; `open` is a part of its uplink; to the same HOSTS: to the others)
    LOAD also: trace N (--trace FILE, N times faster: `size` is a block's; op both)
  at TIME hosts NAME memory RATE | uplink RATE | jam TIME (takes nothing in) | restart TIME
  at TIME partition HOSTS from HOSTS for TIME
)";

inline constexpr char kReport[] =
    R"(Each figure is of what was to be submitted (times), or moved or ended (bytes), between warm-up and
duration, or in a phase. --json has them all, with _us and _bytes behind their names; and
  peak_outstanding       bytes; p50_us p99_us p999_us: of the most urgent class that has owners
  goodput fairness       of the host; control_bytes_fraction: bytes of messages between daemons /
                         all bytes between hosts; 0 with one host
  violations             failed checks of the core's invariants, after every event or as `check`
                         says, and of what must hold from outside: each byte handed over once, one
                         end for each owner, no lane beyond its window, no lane idle while something
                         waits for it, limits kept, every charge released at the end; and P8, where
                         it must hold to the byte: foreground strict, no aging (age-max 0s), no caps
                         and reserves, a fixed window no shorter than the way. Of several hosts
                         also I1 to I7 of daemon/core/credits
Exit code: 0; 1 when something was violated or an expectation was missed; 2 for a bad scenario.)";

}  // namespace tentq::sim
