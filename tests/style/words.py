"""Names and words that the project keeps out, each with what to write instead. Some patterns are
spelt with a character class so that this file does not match itself."""

import ast
import re

from source import Finding, load_sources, project_paths

PRODUCT = ("proto", "shm", "client", "transports", "daemon")
VAGUE = r"(?:Manager|Helper|Utils?|Impl|Handler|Context)"
VAGUE_FILE = r"(?:^|_)(?:manager|helpers?|utils?|impl|handler|context)$"
NAME_REMEDY = "a name for the one thing it holds or keeps true, as in the glossary"
DECLARED = rf"\b(?:class|struct|union|enum|using|concept|namespace|typename)\s+(\w*{VAGUE})\b(?!\s*::)"

PROMISES = (
    r"\b(?:T[O]DO|F[I]XME|X[X]X|H[A]CK)\b|"
    r"(?i:\b(?:st[u]bs?|(?<!refused )for n[o]w|simpl[i]fied|not impl[e]mented|place[h]older)\b)"
)
ISSUE_NUMBER = r"(?i)\b(?:issue|bug|ticket|PR)\s*#?\d+\b|(?<![\w&'\"])#\d{2,}\b"
SLEEPS = (
    r"\bsleep_(?:for|until)\b|\b(?:u|nano|clock_nano)?sleep\s*\(|\btime\s*\.\s*sleep\b|"
    r"^[^#\n]*\bsleep\s+[0-9.$]"
)
FENCES = r"\batomic_(?:thread|signal)_fence\b|\b__sync_synchronize\b|\b_mm_[ml]fence\b"
STORE_FENCE = r"\b_mm_sfence\b|\b__builtin_ia32_sfence\b|\bsfence\b"
ENVIRONMENT = r"\b(?:secure_)?getenv\s*\(\s*([^)]*)\)|\b(?:setenv|putenv|unsetenv)\s*\("
ALLOWED_VARIABLES = ("TENTQ_CONFIG", "TENTQ_SOCKET")
# Their names as proto/version.h spells them.
ALLOWED_ARGUMENTS = ('"TENTQ_CONFIG"', '"TENTQ_SOCKET"', "kConfigVariable", "kSocketVariable")
DISABLED = r"\bDISABLED_\w+"


def name_findings(root):
    for path in project_paths(root):
        stem = path.rsplit("/", 1)[-1].split(".")[0]
        if re.search(VAGUE_FILE, stem):
            yield Finding(path, 1, f"the file is called {stem}", NAME_REMEDY)
    for source in load_sources(root):
        if source.is_cpp:
            for line, match in source.find(DECLARED):
                yield source.finding(line, f"{match.group(1)} says nothing", NAME_REMEDY)
        elif source.path.endswith(".py"):
            for node in ast.walk(ast.parse(source.text)):
                if isinstance(node, ast.ClassDef) and re.search(VAGUE + "$", node.name):
                    yield source.finding(node.lineno, f"{node.name} says nothing", NAME_REMEDY)


def promise_findings(root):
    for source in load_sources(root):
        for line, match in source.find(PROMISES, source.text):
            yield source.finding(
                line, f"`{match.group()}` promises later work", "finish it, or leave it out"
            )
        if source.is_cpp:
            comments = "".join(
                kept if kept == "\n" or kept != code else " "
                for kept, code in zip(source.text, source.uncommented)
            )
            for line, match in source.find(ISSUE_NUMBER, comments):
                yield source.finding(
                    line, f"`{match.group()}` is history", "say why the code is so, in the comment"
                )


def test_findings(root):
    for source in load_sources(root):
        if source.folder != "tests" or source.path.startswith("tests/style/"):
            continue
        for line, match in source.find(DISABLED):
            yield source.finding(line, f"{match.group()} never runs", "mend the test, or delete it")
        # The benchmark paces arrivals by the clock; that is its job.
        if source.path.startswith("tests/bench/"):
            continue
        for line, match in source.find(SLEEPS):
            yield source.finding(
                line,
                f"a test sleeps ({match.group().strip()})",
                "virtual time, or wait for the condition itself with poll, a futex or a condition variable",
            )


def fence_findings(root):
    for source in load_sources(root, (".h", ".hpp", ".cc", ".cpp", ".c")):
        for line, match in source.find(FENCES):
            yield source.finding(
                line,
                f"{match.group()} stands alone, and ThreadSanitizer does not see it",
                "a seq_cst store or exchange and a seq_cst load on named words (shm/handshake.h)",
            )
        if source.folder in PRODUCT and not source.path.startswith("transports/shm/"):
            for line, match in source.find(STORE_FENCE):
                yield source.finding(
                    line, f"{match.group()} outside the copy routines", "the wrapper in transports/shm/"
                )


def environment_findings(root):
    for source in load_sources(root, (".h", ".hpp", ".cc", ".cpp", ".c")):
        if source.folder not in PRODUCT:
            continue
        for line, match in source.find(ENVIRONMENT, source.uncommented):
            if (match.group(1) or "").strip().removeprefix("tentq::") in ALLOWED_ARGUMENTS:
                continue
            yield source.finding(
                line,
                f"the environment is used ({match.group()})",
                f"a key of the configuration; only {' and '.join(ALLOWED_VARIABLES)} are read",
            )
