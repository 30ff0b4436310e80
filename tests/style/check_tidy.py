#!/usr/bin/env python3
"""Runs clang-tidy with the project's .clang-tidy over every source file in a build's
compile_commands.json. Exit code 77, skipped, where clang-tidy 14 is not installed."""

import argparse
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys

SKIPPED = 77


def tidy(program, build, path):
    command = [program, "-p", str(build), "--quiet", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return path, done.returncode, done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).parents[2])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("folders", nargs="*", help="only files below these folders of the project")
    arguments = parser.parse_args()
    program = shutil.which("clang-tidy-14") or shutil.which("clang-tidy")
    if program is None:
        print("clang-tidy is not installed: apt-get install clang-tidy")
        sys.exit(SKIPPED)
    root = arguments.root.resolve()
    wanted = [root / folder for folder in arguments.folders] or [root]
    commands = json.loads((arguments.build / "compile_commands.json").read_text(encoding="utf-8"))
    paths = sorted({pathlib.Path(entry["file"]) for entry in commands})
    paths = [path for path in paths if any(path.is_relative_to(folder) for folder in wanted)]
    failures = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for path, code, text in pool.map(lambda p: tidy(program, arguments.build, p), paths):
            if code != 0:
                failures += 1
                print(f"{path.relative_to(root)}\n{text}")
    print(f"{failures} of {len(paths)} files have findings")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
