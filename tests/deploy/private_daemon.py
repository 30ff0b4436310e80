"""A tentqd of a test's own, in a temporary folder: started, ready when the block is entered, stopped
and removed when it is left."""

import contextlib
import json
import pathlib
import socket
import subprocess
import tempfile


@contextlib.contextmanager
def private_daemon(program, limit_s=30):
    """Yields the folder, which holds tentqd.sock and admin.sock."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        settings = {
            "socket": str(folder / "tentqd.sock"),
            "admin_socket": str(folder / "admin.sock"),
            "status_path": str(folder / "status.shm"),
            "lock_path": str(folder / "tentqd.lock"),
            "state_directory": str(folder / "state"),
            "metrics_listen": "",
        }
        (folder / "tentqd.json").write_text(json.dumps(settings), encoding="utf-8")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ready, open(folder / "log", "wb") as log:
            ready.bind(str(folder / "notify"))
            ready.settimeout(limit_s)
            daemon = subprocess.Popen(
                [program, "--config", folder / "tentqd.json"],
                env={"NOTIFY_SOCKET": str(folder / "notify")},
                stdout=log,
                stderr=log,
            )
            try:
                while b"READY=1" not in ready.recv(4096):
                    pass
                yield folder
            except TimeoutError as error:
                raise AssertionError((folder / "log").read_text(encoding="utf-8")) from error
            finally:
                daemon.terminate()
                daemon.wait(limit_s)
