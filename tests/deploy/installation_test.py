#!/usr/bin/env python3
"""What `cmake --install` puts in place, into a folder of its own: the files, the units as systemd
reads them, the users, and an example configuration that says the truth about the defaults."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["TENTQ_SOURCE_DIR"])
BUILD = pathlib.Path(os.environ["TENTQ_BUILD_DIR"])
TENTQD = BUILD / "daemon/tentqd"


def run(*command, **options):
    words = [str(word) for word in command]
    return subprocess.run(words, capture_output=True, text=True, check=False, **options)


def without_head(text):
    return "".join(line for line in text.splitlines(True) if not line.startswith("//"))


class Configuration(unittest.TestCase):
    def test_example_is_accepted(self):
        checked = run(TENTQD, "--config", SOURCE / "deploy/tentqd.json", "--check-config")
        self.assertEqual(checked.returncode, 0, checked.stderr)

    def test_example_shows_every_key_with_its_default(self):
        printed = run(TENTQD, "--config", "/dev/null", "--print-config")
        self.assertEqual(printed.returncode, 0, printed.stderr)
        example = (SOURCE / "deploy/tentqd.json").read_text(encoding="utf-8")
        self.assertEqual(
            without_head(example),
            printed.stdout,
            "below its head deploy/tentqd.json is what `tentqd --config /dev/null --print-config` prints",
        )


class Installation(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.staging = tempfile.TemporaryDirectory()
        cls.root = pathlib.Path(cls.staging.name)
        cls.installed = run(
            "cmake", "--install", BUILD, "--prefix", "/usr", env=os.environ | {"DESTDIR": str(cls.root)}
        )

    @classmethod
    def tearDownClass(cls):
        cls.staging.cleanup()

    def setUp(self):
        self.assertEqual(self.installed.returncode, 0, self.installed.stderr)

    def paths(self):
        return sorted(str(p.relative_to(self.root)) for p in self.root.rglob("*") if p.is_file())

    def test_everything_is_in_place(self):
        endings = [
            "bin/tentqd",
            "bin/tentqctl",
            "bin/tentq-bench",
            "lib/systemd/system/tentqd.service",
            "lib/systemd/system/tentqd.socket",
            "lib/systemd/system/tentqd-admin.socket",
            "lib/tmpfiles.d/tentq.conf",
            "lib/sysusers.d/tentq.conf",
            "etc/tentq/tentqd.json",
            "doc/tentq/README.md",
            "doc/tentq/CHANGELOG.md",
            "doc/tentq/LICENSE",
            "doc/tentq/tentqd.json",
            "include/tentq/tentq.hpp",
            "include/tentq/tentq.h",
            "libtentq.so",
        ]
        paths = self.paths()
        for ending in endings:
            self.assertTrue(any(path.endswith(ending) for path in paths), f"{ending} in {paths}")

    def test_an_existing_configuration_is_kept(self):
        path = next(self.root.rglob("etc/tentq/tentqd.json"))
        path.write_text("{}", encoding="utf-8")
        again = run(
            "cmake", "--install", BUILD, "--prefix", "/usr", env=os.environ | {"DESTDIR": str(self.root)}
        )
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(path.read_text(encoding="utf-8"), "{}")

    @unittest.skipUnless(shutil.which("systemd-analyze"), "systemd is not installed")
    def test_systemd_understands_the_units(self):
        units = next(self.root.rglob("lib/systemd/system/tentqd.service")).parent
        with tempfile.TemporaryDirectory() as folder:
            for unit in units.iterdir():
                text = unit.read_text(encoding="utf-8")
                # The program is not installed where the unit will find it.
                text = "".join(
                    f"ExecStart={TENTQD}\n" if line.startswith("ExecStart=") else line
                    for line in text.splitlines(True)
                )
                (pathlib.Path(folder) / unit.name).write_text(text, encoding="utf-8")
            names = sorted(str(path) for path in pathlib.Path(folder).iterdir())
            verified = run("systemd-analyze", "verify", "--man=no", "--recursive-errors=no", *names)
        complaints = [line for line in verified.stderr.splitlines() if "tentqd" in line]
        self.assertEqual(complaints, [])
        self.assertEqual(verified.returncode, 0, verified.stderr)

    @unittest.skipUnless(shutil.which("systemd-sysusers") and os.geteuid() == 0, "needs root, systemd")
    def test_the_groups_have_the_documented_ids(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "etc").mkdir()
            known = pathlib.Path(folder) / "usr/lib/sysusers.d"
            known.mkdir(parents=True)
            shutil.copy(next(self.root.rglob("lib/sysusers.d/tentq.conf")), known)
            done = run("systemd-sysusers", f"--root={folder}")
            self.assertEqual(done.returncode, 0, done.stderr)
            groups = (pathlib.Path(folder) / "etc/group").read_text(encoding="utf-8").splitlines()
            self.assertIn("tentq:x:480:", groups)
            self.assertIn("tentq-admin:x:481:tentq", groups)

    @unittest.skipUnless(shutil.which("systemd-tmpfiles"), "systemd is not installed")
    def test_run_directory_is_what_clients_may_enter(self):
        with tempfile.TemporaryDirectory() as folder:
            line = next(self.root.rglob("lib/tmpfiles.d/tentq.conf")).read_text(encoding="utf-8")
            conf = pathlib.Path(folder) / "tentq.conf"
            conf.write_text(line.replace("tentq tentq -", "- - -"), encoding="utf-8")
            done = run("systemd-tmpfiles", "--create", f"--root={folder}", conf)
            self.assertEqual(done.returncode, 0, done.stderr)
            made = pathlib.Path(folder) / "run/tentq"
            self.assertEqual(made.stat().st_mode & 0o777, 0o755)


if __name__ == "__main__":
    unittest.main()
