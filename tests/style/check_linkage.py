#!/usr/bin/env python3
"""Fails when libtentq needs a shared library that an engine's image may lack, or shows symbols that
are not its own interface. Reads the built library with readelf and nm."""

import argparse
import pathlib
import re
import subprocess
import sys

ALLOWED = re.compile(r"(?:libc|libstdc\+\+|libm|libgcc_s|ld-linux[\w-]*|libpthread)\.so\.\d+")
# The C interface, and the C++ interface in its inline namespace.
INTERFACE = re.compile(r"tentq_\w+|(?:.*\b)?tentq::v1::.*")
# Templates of the standard library are instantiated everywhere and harmless.
STANDARD = re.compile(r"(?:.*\b)?(?:std|__gnu_cxx)::.*")


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=pathlib.Path, help="unused; all checks take it")
    parser.add_argument("--library", type=pathlib.Path, required=True)
    library = str(parser.parse_args().library)
    failures = 0
    for name in re.findall(r"\(NEEDED\).*\[(.+)\]", output("readelf", "--dynamic", library)):
        if not ALLOWED.fullmatch(name):
            failures += 1
            print(f"libtentq needs {name}. Instead: libc and libstdc++ only; leave it to the daemon")
    symbols = output("nm", "--dynamic", "--defined-only", "--demangle", library).splitlines()
    for symbol in (line.split(" ", 2)[2] for line in symbols if re.match(r"[0-9a-f]+ [TDBRVW] ", line)):
        symbol = re.sub(r"@@?TENTQ_\d+$", "", symbol)  # the version that the linker script gives it
        if not INTERFACE.fullmatch(symbol) and not STANDARD.fullmatch(symbol):
            failures += 1
            print(f"libtentq shows {symbol}. Instead: hidden, or marked TENTQ_EXPORT and documented")
    print(f"{len(symbols)} symbols, {failures} findings")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
