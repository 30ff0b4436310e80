#!/usr/bin/env python3
"""The checks themselves: each sample is unpacked into a folder of its own, judged, and must give
exactly the findings written below it. See samples/README.md for their form."""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).parent
REPEATED = re.compile(r"^@(\d+) (.*)\n", re.MULTILINE)  # a line that stands for many


def read_sample(path):
    """(check, {path: text}, expected findings)."""
    content, _, expected = path.read_text(encoding="utf-8").partition("\n----\n")
    head, *files = ("\n" + content).split("\n== ")
    check = head.strip().removeprefix("check: ")
    contents = {}
    for file in files:
        name, _, text = file.partition("\n")
        contents[name] = re.sub(REPEATED, lambda m: int(m[1]) * (m[2] + "\n"), text + "\n")
    return check, contents, [line for line in expected.splitlines() if line]


def judge(check, contents):
    """(exit code, lines of output) of a check over these files."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in contents.items():
            path = pathlib.Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        command = [sys.executable, str(HERE / f"check_{check}.py"), "--root", folder]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout.splitlines() + done.stderr.splitlines()


class Samples(unittest.TestCase):
    def check_sample(self, path):
        check, contents, expected = read_sample(path)
        code, lines = judge(check, contents)
        if code == 77:
            self.skipTest(lines[0])
        findings = [line for line in lines if "Instead" in line]
        for wanted in expected:
            # `path:line: words`: the place at the start of the line, the words anywhere in it.
            place, _, words = wanted.rpartition(": ") if ": " in wanted else ("", "", wanted)
            fitting = [line for line in findings if line.startswith(place) and words in line]
            self.assertTrue(fitting, f"not found: {wanted}\nin:\n" + "\n".join(lines))
            findings.remove(fitting[0])
        self.assertEqual(findings, [], "not expected")
        self.assertEqual(code, 1 if expected else 0)


def add_case(path):
    setattr(Samples, f"test_{path.stem}", lambda self: self.check_sample(path))


for sample in sorted((HERE / "samples").glob("*.sample")):
    add_case(sample)

if __name__ == "__main__":
    unittest.main()
