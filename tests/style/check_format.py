#!/usr/bin/env python3
"""Fails on C and C++ files that clang-format 14 would write differently. Exit code 77, which
ctest shows as skipped, where that version is not installed: others format differently."""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys

from source import CPP_SUFFIXES, project_paths

VERSION = 14
SKIPPED = 77


def find_formatter():
    for name in (f"clang-format-{VERSION}", "clang-format"):
        path = shutil.which(name)
        if path is None:
            continue
        text = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
        if re.search(rf"version {VERSION}\.", text):
            return path
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).parents[2])
    root = parser.parse_args().root.resolve()
    formatter = find_formatter()
    if formatter is None:
        print(f"clang-format {VERSION} is not installed: apt-get install clang-format")
        sys.exit(SKIPPED)
    paths = [path for path in project_paths(root) if path.endswith(CPP_SUFFIXES)]
    done = subprocess.run(
        [formatter, "--dry-run", "-Werror", *paths], cwd=root, capture_output=True, text=True, check=False
    )
    if done.returncode == 0:
        print(f"{len(paths)} files are formatted")
        sys.exit(0)
    bad = sorted(set(re.findall(r"^([^\s:]+):\d+:\d+: error", done.stderr, re.MULTILINE)))
    print("\n".join(done.stderr.splitlines()[:20]))
    print(f"Not formatted: {' '.join(bad)}. Instead: clang-format -i {' '.join(bad)}")
    sys.exit(1)


if __name__ == "__main__":
    main()
