#!/usr/bin/env python3
"""README.md says the truth: its examples compile, link and run against a daemon, its commands and
configuration keys exist."""

import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

from private_daemon import private_daemon

SOURCE = pathlib.Path(os.environ["TENTQ_SOURCE_DIR"])
BUILD = pathlib.Path(os.environ["TENTQ_BUILD_DIR"])
README = (SOURCE / "README.md").read_text(encoding="utf-8")
WARNINGS = ["-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror"]


def run(*command, **options):
    words = [str(word) for word in command]
    return subprocess.run(words, capture_output=True, text=True, check=False, **options)


def example(language):
    return re.search(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL).group(1)


def rows_of_table(heading):
    table = README[README.index(heading) :].split("\n\n")[0]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()[2:]]


class Examples(unittest.TestCase):
    def check_example(self, language, compiler, suffix, standard):
        library = next(BUILD.rglob("libtentq.so"))
        with tempfile.TemporaryDirectory() as name, private_daemon(BUILD / "daemon/tentqd") as daemon:
            source = pathlib.Path(name) / f"example.{suffix}"
            source.write_text(example(language), encoding="utf-8")
            program = pathlib.Path(name) / "example"
            built = run(
                compiler, standard, *WARNINGS, f"-I{SOURCE / 'client/include'}", source, "-o", program,
                f"-L{library.parent}", "-ltentq", f"-Wl,-rpath,{library.parent}",
            )
            self.assertEqual(built.returncode, 0, built.stderr)
            ran = run(program, env={"TENTQ_SOCKET": str(daemon / "tentqd.sock")}, timeout=60)
            self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)

    def test_cpp_example_runs(self):
        self.check_example("cpp", "c++", "cc", "-std=c++20")

    def test_c_example_runs(self):
        self.check_example("c", "cc", "c", "-std=c11")


class Operators(unittest.TestCase):
    def test_every_command_exists(self):
        known = run(BUILD / "client/ctl/tentqctl", "--help").stdout
        for row in rows_of_table("| command | answers |"):
            for code in re.findall(r"`([^`]+)`", row[0]):
                command = code.removeprefix("tentqctl ").split()[0]
                self.assertRegex(known, rf"(?m)^  {command}\b", code)

    def test_every_key_of_the_limits_exists(self):
        text = (SOURCE / "deploy/tentqd.json").read_text(encoding="utf-8")
        settings = json.loads(re.sub(r"(?m)^\s*//.*$", "", text))
        for row in rows_of_table("| limit | default | key |"):
            for key in re.findall(r"`([^`]+)`", row[2]):
                value = settings
                for part in key.split("."):
                    self.assertIn(part, value, key)
                    value = value[part]

    def test_examples_of_set_are_accepted(self):
        tentqctl = BUILD / "client/ctl/tentqctl"
        with private_daemon(BUILD / "daemon/tentqd") as daemon:
            for assignment in re.findall(r"tentqctl set (\S+=[^\s`]+)", README):
                done = run(tentqctl, "--socket", daemon / "admin.sock", "set", assignment)
                self.assertEqual(done.returncode, 0, assignment + done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
