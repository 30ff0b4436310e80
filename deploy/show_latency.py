#!/usr/bin/env python3
"""Draws the foreground latencies of several replays as bars in the terminal, on one linear scale.
Arguments: NAME=FILE, each file the JSON object of a `tentq-bench replay`. Times are shown in ms."""

import json
import sys

FIGURES = (("fg_p50_us", "median"), ("fg_p99_us", "99 %"))
MOST_BAR = 48


def bar(value, most):
    """At least one eighth of a cell, so that no bar vanishes."""
    eighths = max(1, round(value / most * MOST_BAR * 8))
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()


def main():
    runs = []
    for argument in sys.argv[1:]:
        name, _, path = argument.rpartition("=")
        with open(path, encoding="utf-8") as file:
            runs.append((name, json.load(file)))
    most = max(run[key] for _, run in runs for key, _ in FIGURES)
    width = max(len(name) for name, _ in runs)
    print("\nTime of a foreground call that fetches a request's blocks (ms)\n")
    for name, run in runs:
        for key, label in FIGURES:
            shown = name if key == FIGURES[0][0] else ""
            print(f"  {shown:{width}}  {label:6} {run[key] / 1000:9.2f}  {bar(run[key], most)}")
    blocks = sum(run["blocks_read"] + run.get("blocks_prefetched", 0) for _, run in runs)
    errors = sum(run["verify_errors"] for _, run in runs)
    print(f"\n{blocks} blocks were read and compared byte by byte: {errors} errors")
    sys.exit(1 if errors else 0)


if __name__ == "__main__":
    main()
