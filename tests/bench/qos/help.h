// The formulas that `tentq-bench qos --help` gives.
#pragma once

namespace tentq::bench::qos {

inline constexpr char kFormulas[] =
    R"(A private daemon whose lane is a link of --rate (--lane paced), or as fast as the memory (shm:
then the rate is what a flood alone moved in 1.5 s). All transfers READ from one exporter.
Background: --flood-clients processes that together keep --flood bytes outstanding in owners of
--owner. Foreground: --foreground-clients processes, transfers of --size at times fixed before (an
open loop, --load of the rate), each timed from its intended submit. Each is a user of its own, if
the benchmark runs as root. Sides: the foreground alone, then each policy with the flood, in --rounds
segments in ABBA order with the same arrivals. strict_64MiB is `strict` with a fixed window of
64 MiB: what a queue inside one process does. Every foreground byte is compared, of a background
owner three pages. Percentiles: nearest rank over all segments of a side.
policies.P, and alone:
  fg_p50_us fg_p99_us    of (terminal status seen by the client - intended submit)
  fg_slowdown_p99        fg_p99_us / that of the foreground alone
  total_gb_per_s         bytes moved by the daemon while the foreground ran / 1e9 / seconds
  utilisation            total / rate; utilisation_vs_direct: total / that of direct
  jain                   (sum x)^2 / (n sum x^2) over the bytes of the n background clients
  isolation_leakage      (fg_p99_us - alone's) / (direct's - alone's): 0 the flood is not felt, 1 all
  slo_attainment         part of the foreground transfers within 2 x alone's fg_p99_us
  goodput_gb_per_s       (background bytes + foreground bytes x slo_attainment) / 1e9 / seconds
  fg_daemon_p99_us       as fg_p99_us, until the status was written: without the client's waking
  fg_late_p99_us         of (submit call - intended submit)
small: a foreground of 4 KiB with as many arrivals per second, under wdrr
  bound_us               P8: (largest lane load seen, looked at every 20 ms, + chunk + 4096) / rate
  within_bound           part of its transfers within bound_us
shares: bytes of owners that completed in --seconds, of clients that keep 16 MiB outstanding each
  equal                  16 clients of one class, owners of 64 KiB, 256 KiB, 1 MiB, 4 MiB in turn
  all_foreground         the same, all foreground
  weighted               four clients in each of four classes that weigh 8:4:2:1
  one_all_foreground     one foreground client, three background ones, classes of equal weight
  many_sessions          one client with 50 sessions beside one with a single session
  lowest_class           strict: one background client beside four foreground ones
charges_back_ms          three times: SIGKILL to the first look at which the dead client has no
                         charges left (at least the time of what was in flight)
verdicts.V: figure, goal, pass (null: not measured, `why`)
  fg_p99_vs_alone        wdrr's fg_slowdown_p99
  fg_p99_gain_vs_X       X's fg_p99_us / wdrr's
  total_vs_direct        wdrr's utilisation_vs_direct
  jain_equal jain_all_foreground    Jain index over the bytes of the clients
  jain_weighted          over bytes / weight of the client's class
  one_all_foreground_vs_share many_sessions_vs_share  bytes of that client / half of all bytes
  lowest_class_vs_rate   bytes of the background client / seconds / rate
  charges_back_ms        the longest of the three
verdict                  pass when every figure that was measured reaches its goal, else fail)";

}  // namespace tentq::bench::qos
