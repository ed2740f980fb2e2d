"""scripts/netlab: its answers to mistakes, its requests to the kernel, and that nothing stays behind.

usage: netlab_test.py CLASS     exit code 77: it cannot run here, for the reason that is printed
"""

import os
import pathlib
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

NETLAB = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "netlab"
SKIPPED = 77
GUARD_SECONDS = 60  # For a process that should end and does not.


class Skipped(Exception):
    """This machine cannot do it."""


def finished(*arguments, **options):
    """netlab with these arguments, when it has ended."""
    return subprocess.run([NETLAB, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          **options)


def able(*arguments, **options):
    """The same, of a netlab that gets as far as its network."""
    done = finished(*arguments, **options)
    if done.returncode == SKIPPED:
        raise Skipped(done.stderr)
    return done


class Options(unittest.TestCase):
    def assert_refused(self, arguments, message):
        done = finished(*arguments)
        self.assertEqual((done.returncode, done.stdout), (1, ""), arguments)
        self.assertEqual(done.stderr, f"netlab: {message}; see netlab --help\n")

    def test_wrong_ones_are_named_with_what_is_meant(self):
        for option, value, meant in [
                ("--hosts", "1", "give 2 to 64"), ("--hosts", "65", "give 2 to 64"),
                ("--hosts", "two", "give 2 to 64"), ("--slots", "0", "give a number from 1"),
                ("--slots", "-1", "give a number from 1"), ("--rate", "100", "give 100mbit, say"),
                ("--rate", "fast", "give 100mbit, say"), ("--delay", "1", "give 0.2ms, say"),
                ("--delay", "-1ms", "give 0.2ms, say"),
                ("--rate", "0mbit", "give 100kbit to 100gbit"),
                ("--rate", "99kbit", "give 100kbit to 100gbit"),
                ("--rate", "99999999gbit", "give 100kbit to 100gbit"),
                ("--slow-host", "2=0kbit", "give 100kbit to 100gbit"),
                ("--servers", "4", "give fewer than the 4 slots of the hosts"),
                ("--servers", "one", "give fewer than the 4 slots of the hosts"),
                ("--slow-host", "2", "give 2=10mbit, say"),
                ("--slow-host", "2=fast", "give 2=10mbit, say")]:
            self.assert_refused([option, value, "--", "true"], f"{option} {value}: {meant}")

    def test_a_value_or_command_that_is_missing_or_too_much_is_named(self):
        for option in ("--hosts", "--slots", "--rate", "--slow-host", "--delay", "--congestion"):
            self.assert_refused([option], f"{option} needs a value")
        self.assert_refused(["--rate", "", "--", "true"],
                            "--rate is empty: leave it out, or give a value")
        self.assert_refused(["--slow-host", "4=1mbit", "--", "true"],
                            "--slow-host 4: there are hosts 0 to 3")
        self.assert_refused([], "there is no COMMAND after --")
        self.assert_refused(["--"], "there is no COMMAND after --")
        self.assert_refused(["--check", "--", "true"], "--check runs no COMMAND")
        self.assert_refused(["true"], "unknown argument true (COMMAND comes after --)")
        self.assert_refused(["--speed", "1"], "unknown argument --speed (COMMAND comes after --)")

    def test_who_is_not_root_is_told_why_that_is_needed(self):
        # A copy, where nobody may read it.
        with tempfile.TemporaryDirectory() as folder:
            scripts = pathlib.Path(folder) / "scripts"
            scripts.mkdir()
            for name in ("netlab", "lib.sh"):
                shutil.copy(NETLAB.parent / name, scripts)
            os.chmod(folder, 0o755)
            command = [scripts / "netlab", "--hosts", "2", "--", "true"]
            if os.geteuid() == 0:
                command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *command]
            done = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout, done.stderr),
                         (SKIPPED, "", "netlab: needs root, to make network namespaces\n"))


class Ending(unittest.TestCase):
    """All of it is gone when the last process is that has the writing end of a pipe, the lifeline."""

    @staticmethod
    def seen_outside():
        names = pathlib.Path("/run/netns")
        return (sorted(os.listdir("/sys/class/net")), names.exists() and sorted(os.listdir(names)),
                os.path.exists("/run/netlab"))

    def setUp(self):
        self.before = self.seen_outside()

    def start(self, *arguments):
        self.lifeline, held = os.pipe()
        self.addCleanup(os.close, self.lifeline)
        self.process = subprocess.Popen(
            [NETLAB, "--hosts", "2", *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, pass_fds=[held], start_new_session=True)
        os.close(held)
        for cleanup in (self.process.stdout.close, self.process.stderr.close, self.process.kill):
            self.addCleanup(cleanup)

    def assert_ends_with(self, *codes):
        self.assertIn(self.process.wait(GUARD_SECONDS), codes)
        ready, _, _ = select.select([self.lifeline], [], [], GUARD_SECONDS)
        self.assertTrue(ready, "a process is left")
        self.assertEqual(os.read(self.lifeline, 1), b"")
        self.assertEqual(self.seen_outside(), self.before)

    def start_one_that_goes_on(self):
        self.start("--", "sh", "-c", "echo runs; exec sleep infinity")
        self.wait_for_line("runs")

    def wait_for_line(self, text):
        line = self.process.stdout.readline()
        if not line and self.process.wait() == SKIPPED:
            raise Skipped(self.process.stderr.read())
        self.assertIn(text, line)
        self.assertEqual(select.select([self.lifeline], [], [], 0)[0], [])

    def test_a_command_that_fails_gives_its_code_and_leaves_nothing(self):
        self.start("--", "sh", "-c", "exit 3")
        if self.process.wait() == SKIPPED:
            raise Skipped(self.process.stderr.read())
        self.assert_ends_with(3)

    def test_a_command_runs_where_netlab_was_called(self):
        with tempfile.TemporaryDirectory() as folder:
            done = able("--hosts", "2", "--", "pwd", cwd=folder)
            lines = sorted(done.stdout.splitlines())
            self.assertEqual(lines, [f"[{rank}] {os.path.realpath(folder)}" for rank in (0, 1)], done.stderr)

    def test_a_termination_leaves_nothing(self):
        self.start_one_that_goes_on()
        self.process.terminate()
        self.assert_ends_with(128 + signal.SIGTERM)

    def test_a_kill_leaves_nothing(self):
        self.start_one_that_goes_on()
        self.process.kill()
        self.assert_ends_with(-signal.SIGKILL)

    def test_an_interrupt_from_the_terminal_ends_the_job_in_good_order(self):
        self.start_one_that_goes_on()
        os.killpg(self.process.pid, signal.SIGINT)
        self.assert_ends_with(128 + signal.SIGINT)

    def test_an_interrupt_from_the_terminal_ends_a_check(self):
        self.start("--check")
        self.wait_for_line("round trip")
        os.killpg(self.process.pid, signal.SIGINT)
        self.assert_ends_with(1, 128 + signal.SIGINT)  # As the interpreter ends.


class Shape(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def with_tc(self, program):
        """An environment whose tc is that shell program, which knows "$@" and $ASKED, a file."""
        tc = self.folder / "tc"
        tc.write_text(f"#!/bin/sh\n{program}\n")
        tc.chmod(0o755)
        return {**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}",
                "ASKED": str(self.folder / "asked")}

    def test_a_delay_is_asked_for_on_the_way_out_of_every_host(self):
        done = able("--hosts", "2", "--delay", "20ms", "--rate", "100mbit", "--", "true",
                    env=self.with_tc('printf "%s\\n" "$*" >>"$ASKED"'))
        self.assertEqual(done.returncode, 0, done.stderr)
        asked = (self.folder / "asked").read_text().splitlines()
        delays = [line for line in asked if "netem" in line]
        self.assertEqual(delays, [f"-n host-{host} qdisc add dev weir0 root handle 1: netem delay 20ms"
                                  " limit 100000" for host in (0, 1)])
        rates = [line.split(" tbf ")[0] for line in asked if " tbf rate 100mbit " in line]
        self.assertEqual(sorted(rates), ["-n host-0 qdisc add dev weir0 parent 1:",
                                         "-n host-1 qdisc add dev weir0 parent 1:",
                                         "qdisc add dev up0 root", "qdisc add dev up1 root"])

    def test_of_a_slow_host_is_a_rate_of_its_own(self):
        done = able("--hosts", "3", "--rate", "100mbit", "--slow-host", "1=10mbit", "--", "true",
                    env=self.with_tc('printf "%s\\n" "$*" >>"$ASKED"'))
        self.assertEqual(done.returncode, 0, done.stderr)
        found = re.findall(r"dev (?:weir0|up(\d)) root tbf rate (\w+) ",
                           (self.folder / "asked").read_text())
        self.assertEqual([rate for up, rate in found if not up], ["100mbit", "10mbit", "100mbit"])
        self.assertEqual([pair for pair in found if pair[0]],
                         [("0", "100mbit"), ("1", "10mbit"), ("2", "100mbit")])

    def test_connections_find_their_rate_as_it_was_said(self):
        program = """
import socket
if socket.gethostname() == "host-0":
    with socket.create_server(("10.83.0.1", 5202)) as server:
        end = server.accept()[0]
else:
    while True:
        try:
            end = socket.create_connection(("10.83.0.1", 5202))
            break
        except ConnectionRefusedError:
            pass
print(end.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\\0").decode())
"""
        for options, name in [([], "cubic"), (["--congestion", "reno"], "reno")]:
            done = able("--hosts", "2", *options, "--", sys.executable, "-c", program)
            self.assertEqual(sorted(done.stdout.splitlines()), [f"[0] {name}", f"[1] {name}"], done.stderr)

    def test_a_kernel_that_cannot_says_so(self):
        able("--hosts", "2", "--", "true")
        for option, value, line in [
                ("--delay", "20ms", "--delay needs netem, which this kernel has not (CONFIG_NET_SCH_NETEM)"),
                ("--rate", "1gbit", "--rate needs tbf, which this kernel has not (CONFIG_NET_SCH_TBF)")]:
            done = finished("--hosts", "2", option, value, "--", "echo", "ran", env=self.with_tc("exit 2"))
            self.assertEqual((done.returncode, done.stdout), (SKIPPED, ""))
            self.assertEqual(done.stderr, f"netlab: {line}\n")
        done = finished("--hosts", "2", "--congestion", "hurry", "--", "echo", "ran")
        self.assertEqual((done.returncode, done.stdout), (SKIPPED, ""))
        self.assertIn("netlab: --congestion hurry is none that this kernel has", done.stderr)


class RoundTrip(unittest.TestCase):
    def test_takes_the_delay_of_both_hosts(self):
        done = able("--hosts", "2", "--delay", "20ms", "--check")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = re.search(r"round trip ([0-9.]+) ms", done.stdout)
        self.assertIsNotNone(found, done.stdout)
        self.assertGreaterEqual(float(found[1]), 40.0)


class Result(unittest.TextTestResult):
    """A test that cannot run here is skipped."""

    def addError(self, test, err):
        if isinstance(err[1], Skipped):
            self.addSkip(test, str(err[1]).strip())
        else:
            super().addError(test, err)


if __name__ == "__main__":
    suite = unittest.defaultTestLoader.loadTestsFromName(sys.argv[1], sys.modules[__name__])
    result = unittest.TextTestRunner(verbosity=2, resultclass=Result).run(suite)
    sys.exit(1 if not result.wasSuccessful() else SKIPPED if result.skipped else 0)
