#!/usr/bin/env python3
"""The scripts of deploy/: their help, their refusals, the packages they know of, and the trace that
the demonstration generates. Nothing is installed or built here."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

SOURCE = pathlib.Path(os.environ.get("TENTQ_SOURCE_DIR", pathlib.Path(__file__).parents[2]))
DEPLOY = SOURCE / "deploy"


def run(*command):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)


class Scripts(unittest.TestCase):
    def test_help_names_every_option(self):
        for name in ("demo", "test"):
            script = (DEPLOY / name).read_text(encoding="utf-8")
            options = set(re.findall(r"^ +(--[a-z-]+)(?:\)| \|)|\| (--[a-z-]+)", script, re.MULTILINE))
            shown = run(DEPLOY / name, "--help")
            self.assertEqual(shown.returncode, 0)
            for option in filter(None, (word for pair in options for word in pair)):
                self.assertIn(option, shown.stdout, name)

    def test_wrong_usage_is_refused_before_anything_is_done(self):
        for name, arguments in (
            ("test", ["--unknown"]),
            ("test", ["--preset"]),
            ("test", ["--preset", "release"]),
            ("test", ["--jobs", "0"]),
            ("demo", ["--unknown"]),
            ("demo", ["--requests", "none"]),
        ):
            refused = run(DEPLOY / name, *arguments)
            self.assertEqual(refused.returncode, 2, f"{name} {arguments}: {refused.stdout}")
            self.assertIn(arguments[0], refused.stderr)

    def test_each_package_is_listed_once(self):
        lines = (DEPLOY / "packages.list").read_text(encoding="utf-8").splitlines()
        entries = [line.split() for line in lines if line and not line.startswith("#")]
        self.assertTrue(all(len(entry) == 2 and entry[0] in ("build", "test") for entry in entries))
        names = [entry[1] for entry in entries]
        self.assertEqual(len(names), len(set(names)))

    @unittest.skipUnless(shutil.which("shellcheck"), "shellcheck is not installed")
    def test_shellcheck_has_no_findings(self):
        scripts = [DEPLOY / "demo", DEPLOY / "test", DEPLOY / "common.sh", SOURCE / ".ci/run"]
        checked = run("shellcheck", "-x", "-P", DEPLOY, *scripts)
        self.assertEqual(checked.returncode, 0, checked.stdout)


class Trace(unittest.TestCase):
    def make(self, *arguments):
        made = run(sys.executable, DEPLOY / "make_trace.py", *arguments)
        self.assertEqual(made.returncode, 0, made.stderr)
        return made.stdout

    def test_same_seed_same_trace(self):
        self.assertEqual(self.make("--seed", "7"), self.make("--seed", "7"))
        self.assertNotEqual(self.make("--seed", "7"), self.make("--seed", "8"))

    def test_form_is_that_of_the_published_traces(self):
        requests = [json.loads(line) for line in self.make("--requests", "300").splitlines()]
        self.assertEqual(len(requests), 300)
        before = 0
        for request in requests:
            self.assertEqual(
                list(request), ["timestamp", "input_length", "output_length", "hash_ids"]
            )
            self.assertGreaterEqual(request["timestamp"], before)
            before = request["timestamp"]
            self.assertEqual(-(-request["input_length"] // 512), len(request["hash_ids"]))
            self.assertEqual(len(set(request["hash_ids"])), len(request["hash_ids"]))

    def test_later_turns_can_fetch_what_earlier_ones_stored(self):
        seen, known, total = set(), 0, 0
        for line in self.make("--requests", "300").splitlines():
            blocks = json.loads(line)["hash_ids"]
            known += sum(block in seen for block in blocks)
            total += len(blocks)
            seen.update(blocks)
        self.assertGreater(known / total, 0.4)
        self.assertLess(known / total, 0.9)


if __name__ == "__main__":
    unittest.main()
