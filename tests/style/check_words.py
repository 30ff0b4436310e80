#!/usr/bin/env python3
"""Fails on vague type names, words that promise later work, issue numbers in comments, sleeping
or disabled tests, stand-alone fences, and environment variables beyond the two named."""

from source import run
from words import (
    environment_findings,
    fence_findings,
    name_findings,
    promise_findings,
    test_findings,
)

if __name__ == "__main__":
    run(
        __doc__,
        name_findings,
        promise_findings,
        test_findings,
        fence_findings,
        environment_findings,
    )
