"""Who may include and link whom: the table of the architecture, and the rules that read it."""

import dataclasses
import re

from source import load_sources, project_paths

# Headers without a folder and a suffix are the C++ standard library's and need no entry here.
SYSTEM = r"[\w./-]+\.h"  # libc, kernel and compiler
INTERPROCESS = r"boost/interprocess/.+"
TOOLS = (r"CLI/.+", r"nlohmann/.+")


@dataclasses.dataclass(frozen=True)
class Layer:
    includes: tuple  # layers besides itself
    headers: tuple = ()  # patterns of foreign headers
    libraries: tuple = ()  # foreign link names


BOOST = ("Boost::headers", "Boost::boost")
LAYERS = {
    "proto": Layer(()),
    "shm": Layer(("proto",), (INTERPROCESS, SYSTEM), BOOST),
    "client": Layer(("proto", "shm"), (INTERPROCESS, SYSTEM), BOOST),
    "client/ctl": Layer(
        ("proto", "shm", "client"),
        (INTERPROCESS, SYSTEM) + TOOLS,
        BOOST + ("CLI11::CLI11", "nlohmann_json::nlohmann_json"),
    ),
    "transports": Layer(("proto",), (r"boost/asio/.+", SYSTEM), BOOST),
    "daemon/core": Layer(("proto",)),
    "daemon": Layer(
        ("proto", "shm", "transports", "daemon/core"),
        (INTERPROCESS, r"boost/asio.*", r"boost/beast/.+", r"boost/system/.+")
        + (r"spdlog/.+", r"systemd/.+", SYSTEM)
        + TOOLS,
        BOOST
        + ("spdlog::spdlog", "CLI11::CLI11", "nlohmann_json::nlohmann_json", "PkgConfig::systemd")
        + ("OpenSSL::Crypto", "OpenSSL::SSL"),
    ),
    "tests": Layer(
        ("proto", "shm", "client", "client/ctl", "transports", "daemon/core", "daemon"), (r".+",), (r".+",)
    ),
}
# Of every target: the project's own flags and the thread library.
COMMON_LIBRARIES = {"tentq_options", "Threads::Threads", "PUBLIC", "PRIVATE", "INTERFACE"}
INCLUDE = r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]'


def layer_of(path):
    """The longest folder of the table that holds the path; None outside of it."""
    inside = [name for name in LAYERS if path.startswith(name + "/")]
    return max(inside, key=len, default=None)


def allowed_text(name):
    layer = LAYERS[name]
    return f"{name}/ may include {', '.join((name,) + layer.includes)} and the standard library" + (
        f", and {', '.join(layer.headers)}" if layer.headers else ""
    )


def target_of_include(kind, header):
    """The layer that a header belongs to, or None when it is foreign."""
    if header.startswith("tentq/"):
        return "client"
    return layer_of(header) if kind == '"' or layer_of(header) else None


def include_findings(root):
    for source in load_sources(root, (".h", ".hpp", ".cc", ".cpp", ".c")):
        own = layer_of(source.path)
        if own is None:
            continue
        for line, match in source.find(INCLUDE, source.uncommented):
            kind, header = match.groups()
            target = target_of_include(kind, header)
            if kind == '"' and target is None:
                yield source.finding(
                    line,
                    f'"{header}" is not a path from the repository root',
                    f'#include "{own}/…", so that the edge can be seen; <> for foreign headers',
                )
            elif target is not None and target != own and target not in LAYERS[own].includes:
                yield source.finding(
                    line,
                    f"{own}/ includes {header} of {target}/",
                    f"{allowed_text(own)}; hand the value in through the caller",
                )
            elif target is None and not foreign_header_allowed(own, header):
                yield source.finding(
                    line, f"{own}/ includes <{header}>", f"{allowed_text(own)}; move the use outwards"
                )


def foreign_header_allowed(layer, header):
    if re.fullmatch(r"[a-z_0-9]+", header):
        return True
    return any(re.fullmatch(pattern, header) for pattern in LAYERS[layer].headers)


COMMAND = re.compile(r"\b(\w+)\s*\(((?:[^()]|\([^()]*\))*)\)")


def cmake_commands(root):
    """(path, line, command, words) of every call in every CMakeLists.txt."""
    for path in project_paths(root):
        if path.rsplit("/", 1)[-1] != "CMakeLists.txt":
            continue
        text = re.sub(r"#[^\n]*", "", (root / path).read_text(encoding="utf-8"))
        for match in COMMAND.finditer(text):
            yield path, text.count("\n", 0, match.start()) + 1, match.group(1), match.group(2).split()


def declared_targets(commands):
    """Target name → layer of the folder whose CMakeLists.txt makes it."""
    targets = {}
    for path, _, command, words in commands:
        if command not in ("add_library", "add_executable", "tentq_test") or not words:
            continue
        layer = layer_of(path)
        if layer is not None:
            targets[words[0]] = layer
    # Another name for the same target.
    for _, _, command, words in commands:
        if command == "add_library" and len(words) == 3 and words[1] == "ALIAS" and words[2] in targets:
            targets[words[0]] = targets[words[2]]
    return targets


def link_findings(root):
    from source import Finding

    commands = list(cmake_commands(root))
    targets = declared_targets(commands)
    for path, line, command, words in commands:
        if command != "target_link_libraries" or words[0] not in targets:
            continue
        own = targets[words[0]]
        for library in words[1:]:
            if library in COMMON_LIBRARIES:
                continue
            target = targets.get(library)
            if target is not None and (target == own or target in LAYERS[own].includes):
                continue
            if target is None and any(re.fullmatch(p, library) for p in LAYERS[own].libraries):
                continue
            yield Finding(
                path,
                line,
                f"{words[0]} of {own}/ links {library}" + (f" of {target}/" if target else ""),
                f"the link lines are the diagram: {own}/ links "
                + (", ".join(LAYERS[own].includes + LAYERS[own].libraries) or "nothing"),
            )
