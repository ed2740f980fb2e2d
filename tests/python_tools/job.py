"""A running job whose ranks serve their pages."""

import os
import signal
import socket
import subprocess
import sys


def free_ports(count):
    """Returns the first of so many ports in a row that nobody uses."""
    for first in range(20000 + os.getpid() % 10000, 32000, count):
        sockets = [socket.socket() for _ in range(count)]
        try:
            for number, one in enumerate(sockets):
                one.bind(("127.0.0.1", first + number))
            return first
        except OSError:
            continue
        finally:
            for one in sockets:
                one.close()
    raise RuntimeError("no free ports")


class Job:
    """byte-lm with DGC, for ever. `token`: the one that readers must show; `environment`: more
    variables; `arguments`: another program in place of byte-lm."""

    def __init__(self, test_case, ranks, token="", environment=None,
                 arguments=("--steps", "1000000", "--compressor", "dgc", "--quiet")):
        """Ends with the test case, a class or an object. Takes weirrun and the program from sys.argv."""
        weirrun, program = sys.argv[1:3]
        self.port = free_ports(ranks)
        self.url = f"http://127.0.0.1:{self.port}"
        self.process = subprocess.Popen(
            [weirrun, "-np", str(ranks), "--metrics-port", str(self.port), program, *arguments],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True,
            env={**os.environ, "WEIR_METRICS_TOKEN": token, **(environment or {})})
        add = getattr(test_case, "addClassCleanup", None) or test_case.addCleanup
        add(self.process.wait)
        add(lambda: self.process.poll() is None
            and os.killpg(self.process.pid, signal.SIGTERM))

    def until(self, holds):
        """Calls `holds()` until it is true, and returns its result; it may raise OSError as long as
        nobody answers."""
        while True:
            try:
                found = holds()
                if found:
                    return found
            except OSError:
                pass
            try:
                raise AssertionError(f"the job has ended with {self.process.wait(0.1)}")
            except subprocess.TimeoutExpired:
                pass  # It runs.
