"""Jobs that go on without the ranks that they lose. Argument: weirrun."""

import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest

TRAIN = pathlib.Path(__file__).parent / "programs" / "train.py"
PAGE = pathlib.Path(__file__).parent / "programs" / "page.py"
GROWING = pathlib.Path(__file__).parent / "programs" / "growing.py"


class Elastic(unittest.TestCase):
    def run_job(self, *arguments, steps=12, deaths=""):
        done = subprocess.run(
            ["timeout", "-k", "5", "120", WEIRRUN, *arguments, sys.executable, str(TRAIN), str(steps), deaths],
            text=True, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env={**os.environ, "OMP_NUM_THREADS": "1"})
        self.output = done.stdout
        return done.returncode

    def lines_of(self, process, pattern):
        """What the process has said, by its number at first."""
        return re.findall(rf"(?m)^\[{process}\] {pattern}$", self.output)

    def expect_done(self, processes):
        for rank, process in enumerate(processes):
            self.assertEqual(self.lines_of(process, "(done .*)"),
                             [f"done as rank {rank} of {len(processes)}, replicas equal: True"], self.output)

    def test_survivors_go_on_from_the_last_commit_whoever_dies(self):
        code = self.run_job("-np", "4", "--min-np", "2", deaths="0:kill:7,2:kill:11")
        self.assertEqual(code, 0, self.output)
        self.expect_done([1, 3])
        entries = r"enters as rank (\d) of (\d) at step (\d+), sets (.*)"
        self.assertEqual(self.lines_of(3, entries), [
            ("3", "4", "0", "[[0, 1], [1, 3], [2]]"),
            ("2", "3", "5", "[[0], [0, 2], [1]]"),
            ("1", "2", "10", "[[0], [0, 1]]")], self.output)
        for process in 1, 3:
            self.assertEqual(self.lines_of(process, "has its unsent part: (.*)"), ["True", "True"], self.output)
        self.assertEqual(self.lines_of(1, r"set of (\d: \d)"), ["1: 1", "2: 2"], self.output)
        self.assertRegex(self.output, r"weirrun: rank 0 on \S+: signal 9 \(Killed\); 3 ranks are left")
        self.assertRegex(self.output, r"weirrun: 2 ranks go on after \d+\.\d\d s \(epoch 3\)")

    def test_an_exception_of_one_rank_is_a_loss(self):
        code = self.run_job("-np", "3", "--min-np", "1", deaths="1:raise:7")
        self.assertEqual(code, 0, self.output)
        self.expect_done([0, 2])
        self.assertRegex(self.output, r"weirrun: rank 1 on \S+: exit code 1; 2 ranks are left")

    def test_two_deaths_at_once_and_one_while_the_others_enter_anew(self):
        code = self.run_job("-np", "4", "--min-np", "1", deaths="1:kill:7,2:kill:7,3:kill:epoch2")
        self.assertEqual(code, 0, self.output)
        self.expect_done([0])

    def test_too_few_ranks_end_the_job(self):
        code = self.run_job("-np", "3", "--min-np", "2", deaths="0:kill:3,1:kill:8")
        self.assertEqual(code, 137, self.output)
        self.assertRegex(self.output, r"weirrun: rank 0 \(process 1 of the output\) on \S+: signal 9 \(Killed\); "
                                      r"1 rank is left, and --min-np asks for 2; ended the job \(exit code 137\)")

    def test_the_number_of_losses_may_be_limited(self):
        code = self.run_job("-np", "3", "--min-np", "1", "--reset-limit", "1", deaths="0:kill:3,1:kill:8")
        self.assertEqual(code, 137, self.output)
        self.assertIn("number of resets during the elastic job exceeded the limit: 1", self.output)

    def test_a_rank_that_is_silent_is_gone_on_without(self):
        code = self.run_job("-np", "3", "--min-np", "1", "--heartbeat-timeout", "3", deaths="1:stop:7")
        self.assertEqual(code, 0, self.output)
        self.expect_done([0, 2])
        self.assertRegex(self.output, r"weirrun: rank 1 on \S+: silent for 3 s: it is stopped by a signal; "
                                      r"2 ranks are left")

    def test_a_rank_that_is_stopped_does_not_come_back(self):
        code = self.run_job("-np", "3", "--min-np", "1", "--elastic-timeout", "10", deaths="0:kill:7,2:stop:7")
        self.assertEqual(code, 0, self.output)
        self.expect_done([1])
        self.assertIn("did not come back", self.output)

    def test_mpi_cannot_do_it(self):
        self.assertEqual(self.run_job("-np", "2", "--min-np", "1", "--mpi"), 2, self.output)
        self.assertIn("MPI does not outlive a rank", self.output)


    def test_the_example_of_the_page_takes_each_batch_once(self):
        done = subprocess.run(["timeout", "-k", "5", "120", WEIRRUN, "-np", "3", "--min-np", "2", sys.executable, str(PAGE)],
                              text=True, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env={**os.environ, "OMP_NUM_THREADS": "1"})
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("rank 2 on localhost: signal 9 (Killed); 2 ranks are left", done.stdout)
        self.assertEqual(re.findall("each batch was taken once: (.*)", done.stdout), ["True", "True"], done.stdout)


class Growing(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.script = self.folder / "hosts.sh"
        self.script.write_text(f"#!/bin/sh\necho looking for hosts >&2\ncat {self.folder}/hosts\n")
        self.script.chmod(0o755)
        self.end = self.folder / "end"
        self.output = ""

    def set_hosts(self, *hosts):
        new = self.folder / "hosts.new"
        new.write_text("".join(f"{host}\n" for host in hosts))
        new.rename(self.folder / "hosts")  # Whole, or not at all.

    def start(self, *arguments):
        self.job = self.enterContext(subprocess.Popen(
            ["timeout", "-k", "5", "120", WEIRRUN, *arguments, "--host-discovery-script", str(self.script),
             sys.executable, str(GROWING), str(self.end)],
            text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env={**os.environ, "OMP_NUM_THREADS": "1"}))

    def await_lines(self, pattern, count):
        """Reads until so many lines match, and returns what they have in brackets."""
        found = []
        for line in self.job.stdout:
            self.output += line
            found += re.findall(pattern, line)
            if len(found) == count:
                return sorted(found)
        self.fail(f"{len(found)} lines with {pattern} instead of {count}:\n{self.output}")

    def finish(self):
        self.end.touch()
        self.output += self.job.stdout.read()
        return self.job.wait()

    def test_hosts_come_and_go(self):
        self.set_hosts("localhost:2")
        self.start("-np", "2", "--min-np", "1", "--max-np", "3")
        entry = r"\[(\d)\] enters as rank (\d) of {}, second (\[.*\]), goes on (\w+)"
        self.assertEqual(self.await_lines(entry.format(2), 2),
                         [("0", "0", "[1]", "False"), ("1", "1", "[1]", "False")])
        self.set_hosts("localhost:2", "127.0.0.1:4")  # One more than is allowed would be three.
        self.assertEqual(self.await_lines(entry.format(3), 3), [
            (str(rank), str(rank), "[1]", "True") for rank in range(3)])
        self.set_hosts("127.0.0.1:1")
        self.assertEqual(self.await_lines(entry.format(1), 1), [("2", "0", "[]", "True")])
        self.set_hosts("127.0.0.1:1", "localhost:1")
        self.assertEqual(self.await_lines(entry.format(2), 2), [("2", "0", "[]", "True"), ("3", "1", "[]", "True")])
        self.assertEqual(self.finish(), 0, self.output)
        self.assertEqual(self.output.count("replicas equal: True"), 2, self.output)

    def test_a_lost_slot_comes_back_after_its_rest(self):
        self.set_hosts("localhost:2")
        self.start("-np", "2", "--min-np", "1", "--blacklist-cooldown-range", "0.1", "1")
        self.await_lines(r"enters as rank (\d) of 2", 2)
        victims = subprocess.run(["pgrep", "-f", f"growing.py {self.end}$"], capture_output=True, text=True,
                                 check=True).stdout.split()
        os.kill(int(victims[-1]), signal.SIGKILL)
        self.assertEqual(self.await_lines(r"enters as rank (\d) of (\d)", 1), [("0", "1")])
        self.await_lines(r"enters as rank (\d) of 2", 2)
        self.assertEqual(self.finish(), 0, self.output)
        self.assertEqual(self.output.count("replicas equal: True"), 2, self.output)

    def test_a_script_that_fails_at_first_ends_the_start(self):
        self.start("-np", "2")
        self.assertEqual(self.job.wait(), 2)
        self.assertRegex(self.job.stdout.read(), "host discovery script '.*' ended with exit code 1")

    def test_a_script_that_fails_later_is_a_warning(self):
        self.set_hosts("localhost:1")
        self.start("-np", "1", "--max-np", "2")
        self.await_lines(r"enters as rank (\d) of 1", 1)
        (self.folder / "hosts").unlink()
        self.await_lines("ended with exit code 1; going on with the hosts known", 1)
        self.assertEqual(self.finish(), 0, self.output)


if __name__ == "__main__":
    WEIRRUN = sys.argv[1]
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
