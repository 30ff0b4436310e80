"""The project's files as the style checks see them: found, read once, with comments and strings
blanked at unchanged offsets. A finding names a place, what is wrong, and what to do instead."""

import argparse
import dataclasses
import functools
import os
import pathlib
import re
import sys

CPP_SUFFIXES = (".h", ".hpp", ".cc", ".cpp", ".c")
SOURCE_SUFFIXES = CPP_SUFFIXES + (".py", ".sh")
SKIPPED_FOLDERS = {".git", ".cache", "__pycache__", "samples"}


@dataclasses.dataclass(frozen=True, order=True)
class Finding:
    path: str
    line: int
    problem: str
    remedy: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.problem}. Instead: {self.remedy}"


class Source:
    """One file. `code` has comments and literals blanked, `uncommented` only comments."""

    def __init__(self, root, path):
        self.path = path
        self.text = (root / path).read_text(encoding="utf-8")

    @property
    def folder(self):
        return self.path.split("/")[0] if "/" in self.path else ""

    @property
    def is_cpp(self):
        return self.path.endswith(CPP_SUFFIXES)

    @functools.cached_property
    def code(self):
        return blank(self.text, strings=True) if self.is_cpp else self.text

    @functools.cached_property
    def uncommented(self):
        return blank(self.text, strings=False) if self.is_cpp else self.text

    def line_of(self, offset):
        return self.text.count("\n", 0, offset) + 1

    def find(self, pattern, text=None):
        """(line, match) of every match in `text`, which has this file's offsets."""
        text = self.code if text is None else text
        return [(self.line_of(m.start()), m) for m in re.finditer(pattern, text, re.MULTILINE)]

    def finding(self, line, problem, remedy):
        return Finding(self.path, line, problem, remedy)


TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)
      | (?P<raw>R"(?P<delimiter>[^()\\\s]{0,16})\(.*?\)(?P=delimiter)")
      | (?P<string>"(?:[^"\\\n]|\\.)*")
      | (?P<number>\b[0-9][0-9a-zA-Z'.]*)
      | (?P<character>'(?:[^'\\\n]|\\.)+')""",
    re.VERBOSE | re.DOTALL,
)


def blank(text, strings):
    """Comments, and with `strings` the content of literals, become spaces; line ends stay."""

    def hide(match):
        if match.lastgroup == "number":
            return match.group()
        whole = match.group()
        if match.group("comment") is not None:
            return re.sub(r"[^\n]", " ", whole)
        if not strings:
            return whole
        return whole[0] + re.sub(r"[^\n]", " ", whole[1:-1]) + whole[-1]

    return TOKEN.sub(hide, text)


def project_paths(root):
    """Paths of all files relative to root, sorted; build trees and hidden folders left out."""
    found = []
    for folder, folders, names in os.walk(root):
        inside = pathlib.Path(folder).relative_to(root)
        folders[:] = sorted(
            name
            for name in folders
            if name not in SKIPPED_FOLDERS
            and not (inside == pathlib.Path(".") and name.startswith("build"))
            and (not name.startswith(".") or name == ".ci")
        )
        found += [(inside / name).as_posix() for name in names]
    return sorted(found)


def load_sources(root, suffixes=SOURCE_SUFFIXES):
    root = pathlib.Path(root)
    return [Source(root, path) for path in project_paths(root) if path.endswith(suffixes)]


def run(description, *rules):
    """Main of a check: applies rules (functions of the root folder) and reports their findings."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).parents[2])
    root = parser.parse_args().root.resolve()
    findings = sorted(finding for rule in rules for finding in rule(root))
    for finding in findings:
        print(finding)
    print(f"{len(findings)} findings in {root}")
    sys.exit(1 if findings else 0)
