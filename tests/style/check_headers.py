#!/usr/bin/env python3
"""Compiles each header alone, twice in one file, with the project's warnings; the public headers
with nothing but the folder that is installed, and the C one also as C. A header that some source
file includes first is left out: the build has compiled it alone already."""

import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

from source import CPP_SUFFIXES, load_sources, project_paths

WARNINGS = "-Wall -Wextra -Wconversion -Wshadow -Wswitch-enum -Werror".split()
PUBLIC = "client/include/"
FIRST_INCLUDE = re.compile(r'\s*#\s*include\s*"([^"]+)"')


def compiled_by_the_build(root):
    """Headers that are the first thing in a source file, and guard themselves."""
    sources = [source for source in load_sources(root, CPP_SUFFIXES)]
    guarded = {source.path for source in sources if "#pragma once" in source.text}
    firsts = (FIRST_INCLUDE.match(s.uncommented) for s in sources if s.path.endswith((".cc", ".c")))
    return guarded & {match.group(1) for match in firsts if match}


def compilations(root):
    """(header, language, arguments) of every compilation."""
    known = compiled_by_the_build(root)
    for path in project_paths(root):
        if not path.endswith((".h", ".hpp")) or path in known:
            continue
        if path.startswith(PUBLIC):
            name, folder = path.removeprefix(PUBLIC), root / PUBLIC
        else:
            name, folder = path, root
        folders = [f"-I{folder}"] + ([f"-I{root / PUBLIC}"] if folder == root else [])
        yield name, "c++", folders + ["-std=c++20"]
        if path.startswith(PUBLIC) and path.endswith(".h"):
            yield name, "c", folders + ["-std=c11", "-Wstrict-prototypes"]


def compile_alone(compilers, job):
    name, language, arguments = job
    command = [compilers[language], "-fsyntax-only", "-x", language, *WARNINGS, *arguments, "-"]
    program = f'#include "{name}"\n' * 2
    done = subprocess.run(command, input=program, text=True, capture_output=True, check=False)
    return name, language, done.returncode, done.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).parents[2])
    parser.add_argument("--cxx", default="c++")
    parser.add_argument("--cc", default="cc")
    arguments = parser.parse_args()
    compilers = {"c++": arguments.cxx, "c": arguments.cc}
    jobs = list(compilations(arguments.root.resolve()))
    failures = 0
    with concurrent.futures.ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        for name, language, code, errors in pool.map(lambda job: compile_alone(compilers, job), jobs):
            if code != 0:
                failures += 1
                print(f"{name} does not compile alone as {language}. Instead: include what it uses")
                print("\n".join(errors.splitlines()[:12]))
    print(f"{failures} of {len(jobs)} compilations failed")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
