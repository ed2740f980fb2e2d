"""The scenarios of Horovod's tests of elastic jobs that elastic_test.py does not have, by kills and by exits,
in jobs without PyTorch. Arguments: weirrun, training_rank (tests/faults)."""

import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

DEEDS = {"kill": 137, "exit": 3}


def await_step(log, job):
    give_up = time.monotonic() + 60
    while job.poll() is None and time.monotonic() < give_up:
        if log.exists() and "step " in log.read_text():
            return
        time.sleep(0.01)  # A file has no other way to say that it has grown.


class Scenarios(unittest.TestCase):
    def run_job(self, *options, faults, hosts=(), steps=300, until=None, shell="", environment=()):
        """Returns the exit code; self.logs has the text of each process by its number. Interrupts the job once
        the process that `until` names has taken a step. Each process runs `shell` before the program."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            script = folder / "hosts.sh"
            script.write_text("#!/bin/sh\n" + "".join(f"echo {host}\n" for host in hosts))
            script.chmod(0o755)
            discovery = ["--host-discovery-script", script] if hosts else []
            with open(folder / "output", "w+") as output:
                job = subprocess.Popen(
                    [WEIRRUN, *options, *discovery, "--no-summary", "sh", "-c", f'{shell}\nexec "$@"', "sh", TRAINING_RANK,
                     folder / "log", str(steps), "10",
                     "dense", faults], stdout=output, stderr=subprocess.STDOUT, env={**os.environ, **dict(environment)})
                if until is not None:
                    await_step(folder / f"log.{until}", job)
                    job.terminate()
                code = job.wait(60)
                output.seek(0)
                self.output = output.read()
            self.logs = {int(path.suffix[1:]): path.read_text() for path in folder.glob("log.*")}
            return code

    def places(self, process):
        return re.findall(r"epoch (\d+) rank (\d+) of (\d+)", self.logs[process])

    def test_another_host_takes_the_place_of_a_lost_rank(self):
        # Horovod: fault_tolerance_without_scaling.
        for deed, _ in DEEDS.items():
            with self.subTest(deed=deed):
                code = self.run_job("-np", "2", "--min-np", "2", "--max-np", "2", "-H", "localhost:2,127.0.0.1:2",
                                    faults=f"0:{deed}:begin:50")
                self.assertEqual(code, 0, self.output)
                self.assertEqual(self.places(1), [("1", "1", "2"), ("2", "0", "2")], self.output)
                self.assertEqual(self.places(2), [("2", "1", "2")], self.output)
                self.assertIn("done", self.logs[2])

    def test_who_ends_before_it_joins_is_gone_on_without(self):
        for who in 0, 1:
            for late in "", "sleep 2; ":
                with self.subTest(who=who, late=late):
                    code = self.run_job("-np", "3", "--min-np", "2", faults="",
                                        shell=f'[ "$HOROVOD_RANK" = {who} ] && {{ {late} exit 0; }}')
                    self.assertEqual(code, 0, self.output)
                    others = [process for process in range(3) if process != who]
                    self.assertEqual([self.places(process) for process in others],
                                     [[("1", str(rank), "2")] for rank in range(2)], self.output)
                    self.assertIn(f"rank {who} on localhost: exited before it had joined the job", self.output)
                    self.assertIn("2 ranks are left", self.output)

    def test_ranks_that_do_not_reach_each_other_end_the_job(self):
        code = self.run_job("-np", "2", "--min-np", "1", faults="", environment={"UCX_TLS": "self"})
        self.assertEqual(code, 1, self.output)
        self.assertRegex(self.output, r"weirrun: rank \d on localhost.*: sending to rank \d failed: .*; 3 epochs in a row "
                                      "have ended so, before a rank was ready.*--network-interface.*; ended the job")
        self.assertEqual(self.output.count(" go on after"), 2, self.output)

    def test_nobody_is_left(self):
        # Horovod: all_ranks_failure, all_hosts_blacklisted.
        for deed, expected in DEEDS.items():
            with self.subTest(deed=deed):
                code = self.run_job("-np", "3", "--min-np", "1", "-H", "localhost:2,127.0.0.1:1",
                                    faults=",".join(f"{process}:{deed}:begin:50" for process in range(3)))
                self.assertEqual(code, expected, self.output)

    def test_too_few_hosts_are_waited_for(self):
        # Horovod: min_hosts_timeout.
        for deed, expected in DEEDS.items():
            with self.subTest(deed=deed):
                code = self.run_job("-np", "3", "--min-np", "3", "--elastic-timeout", "2", hosts=["localhost:3"],
                                    faults=f"0:{deed}:begin:50")
                self.assertEqual(code, expected, self.output)
                self.assertRegex(self.output, "waiting for 3")
                self.assertRegex(self.output, "2 ranks are left, and --min-np asks for 3; ended the job")

    def test_lost_slots_rest_longer_each_time(self):
        # Horovod: resurrecting_blacklisted_hosts_exponential_backoff.
        for deed, _ in DEEDS.items():
            with self.subTest(deed=deed):
                code = self.run_job("-np", "2", "--min-np", "1", "--blacklist-cooldown-range", "0.1", "1",
                                    steps=100_000_000, until=4,
                                    faults=f"1:{deed}:begin:400,2:{deed}:sync:-1,3:{deed}:sync:-1")
                self.assertEqual(code, 128 + signal.SIGTERM, self.output)
                self.assertEqual(self.places(0)[0], ("1", "0", "2"))
                self.assertIn("step ", self.logs[4], self.output)


if __name__ == "__main__":
    WEIRRUN, TRAINING_RANK = sys.argv[1:3]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
