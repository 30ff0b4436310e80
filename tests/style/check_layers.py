#!/usr/bin/env python3
"""Fails on an include or link edge outside the architecture's table, on anything impure in
daemon/core, and on files over 500 lines or functions over 70."""

from functions import functions_of
from layers import include_findings, link_findings
from purity import purity_findings
from source import load_sources, run

MOST_FILE_LINES = 500
MOST_FUNCTION_LINES = 70


def size_findings(root):
    for source in load_sources(root):
        lines = source.text.count("\n")
        if lines > MOST_FILE_LINES:
            yield source.finding(
                MOST_FILE_LINES + 1,
                f"the file has {lines} lines, {MOST_FILE_LINES} at most",
                "split it by event or by invariant, each file named after its own",
            )
        for function in functions_of(source):
            if function.lines > MOST_FUNCTION_LINES:
                yield source.finding(
                    function.first_line,
                    f"{function.name} has {function.lines} lines, {MOST_FUNCTION_LINES} at most",
                    "a main path that reads as a list of named steps",
                )


if __name__ == "__main__":
    run(__doc__, include_findings, link_findings, purity_findings, size_findings)
