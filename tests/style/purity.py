"""daemon/core decides and does nothing else: no clock, thread, lock, I/O, environment or logging,
and no containers that allocate an element at a time."""

import re

from layers import INCLUDE
from source import load_sources

CORE = "daemon/core/"

PURE_HEADERS = set(
    "algorithm array bit cassert chrono climits cmath compare concepts cstddef cstdint cstring "
    "functional initializer_list iterator limits memory new numeric optional ranges span stdexcept "
    "string string_view tuple type_traits utility variant vector".split()
)
ALLOCATING = set(
    "deque forward_list list map queue set stack unordered_map unordered_set any sstream regex".split()
)

CALLS = (
    (r"_clock\b|\bclock_gettime\b|\btime\s*\(\s*(?:nullptr|NULL|0)|\b__?rdtscp?\b",
     "reads a clock", "take `now` as an argument; the conductor reads the clock once a turn"),
    (r"\bstd::(?:thread|jthread|async|this_thread)\b|\bpthread_\w+",
     "uses a thread", "emit an effect; one thread owns the core"),
    (r"\bstd::(?:recursive_|shared_|timed_)*mutex\b|\bstd::(?:lock_guard|unique_lock|scoped_lock|"
     r"condition_variable\w*|counting_semaphore|latch|barrier)\b|\bstd::atomic\w*\b",
     "uses a lock or an atomic", "nothing: one thread owns the core"),
    (r"\bstd::(?:cout|cerr|clog|cin|ifstream|ofstream|fstream)\b|\b(?:f|s|sn|v|vsn)?printf\s*\(|"
     r"\b(?:fopen|fwrite|fread|puts|mmap|syscall|socket|ioctl)\s*\(",
     "does I/O", "emit an effect, and let the shell carry it out"),
    (r"\b(?:secure_)?getenv\s*\(|\bsetenv\s*\(|\benviron\b",
     "reads the environment", "a field of Limits, filled from the configuration"),
    (r"\bspdlog::|\bsyslog\s*\(", "logs", "a counter or an effect; the shell logs"),
    (r"\bstd::random_device\b|\bs?rand(?:om)?\s*\(", "takes randomness from outside",
     "the seed given to the constructor"),
    (r"\b(?:malloc|calloc|realloc|free)\s*\(", "allocates", "a slab that is sized by the limits at start"),
)


def purity_findings(root):
    for source in load_sources(root, (".h", ".cc", ".hpp", ".cpp")):
        if not source.path.startswith(CORE):
            continue
        for line, match in source.find(INCLUDE, source.uncommented):
            kind, header = match.groups()
            if kind == '"' or header in PURE_HEADERS:
                continue
            if header in ALLOCATING:
                remedy = "a slab or a vector sized at start; the hot path allocates nothing"
            else:
                remedy = f"one of {' '.join(sorted(PURE_HEADERS))}, or do it in the shell (daemon/)"
            yield source.finding(line, f"the core includes <{header}>", remedy)
        for pattern, problem, remedy in CALLS:
            for line, match in source.find(pattern):
                yield source.finding(line, f"the core {problem} ({match.group().strip()})", remedy)
