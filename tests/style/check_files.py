#!/usr/bin/env python3
"""Fails when the top level holds something else than was agreed, when a folder's README is
missing, long or lacks a section, and when a source file does not begin with what it is."""

import re

from source import Finding, load_sources, project_paths, run

FOLDERS = ("client", "daemon", "deploy", "proto", "shm", "tests", "transports")
ROOT_FILES = set(
    "CHANGELOG.md CMakeLists.txt CMakePresets.json CONTRIBUTING.md LICENSE README.md "
    ".clang-format .clang-tidy .gitignore".split()
)
SECTIONS = ("Purpose", "May include", "Must not", "Main types", "How to test", "How to extend")
MOST_README_LINES = 40
LONG_READMES = {"proto/README.md"}  # the byte-exact layout is specified there


def top_level_findings(root):
    paths = project_paths(root)
    for path in paths:
        first, _, rest = path.partition("/")
        if rest and first not in FOLDERS + (".ci",):
            yield Finding(path, 1, f"{first}/ is no part", f"one of {', '.join(FOLDERS)}")
        if not rest and path not in ROOT_FILES:
            yield Finding(path, 1, f"{path} lies in the root", "the folder of the part it belongs to")
    for name in sorted(ROOT_FILES - {path for path in paths if "/" not in path}):
        if not (root / name).exists():
            yield Finding(name, 1, "the file is missing", f"write {name}")


def readme_findings(root):
    for folder in FOLDERS:
        path = f"{folder}/README.md"
        if not (root / path).exists():
            yield Finding(path, 1, "the folder has no README", f"one with {' · '.join(SECTIONS)}")
            continue
        text = (root / path).read_text(encoding="utf-8")
        lines = text.count("\n")
        if lines > MOST_README_LINES and path not in LONG_READMES:
            yield Finding(
                path,
                MOST_README_LINES + 1,
                f"{lines} lines, {MOST_README_LINES} at most",
                "keep what a newcomer needs to find the right file; details belong to the headers",
            )
        for section in SECTIONS:
            if not re.search(rf"^[#*\s]*{section}\b", text, re.MULTILINE):
                yield Finding(path, 1, f"`{section}` is missing", f"a heading or a line `**{section}**`")


def begins_with_own_header(source, root):
    """`ring.cc` may begin with `#include "…/ring.h"`: that header's head speaks for both."""
    first = re.match(r'\s*#include "([^"]+)"', source.text)
    own = re.sub(r"\.(?:cc|cpp|c)$", ".h", source.path)
    return first is not None and first.group(1) == own and own != source.path and (root / own).exists()


def head_findings(root):
    for source in load_sources(root):
        if begins_with_own_header(source, root):
            continue
        lines = source.text.splitlines()
        first = next((line for line in lines if line.strip() and not line.startswith("#!")), "")
        if not first.lstrip().startswith(("//", "/*", '"""') if not source.path.endswith(".sh") else "#"):
            yield source.finding(
                1,
                "the file does not begin with a comment",
                "2–5 lines: what it is, whose thread runs it, which units",
            )


if __name__ == "__main__":
    run(__doc__, top_level_findings, readme_findings, head_findings)
