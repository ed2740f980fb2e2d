"""weir-flight on jobs that fail and stall. Arguments: weirrun, doomed_rank."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

from weir import flight, runlog

WEIRRUN, DOOMED_RANK = sys.argv[1:3]
HERE = pathlib.Path(__file__).resolve().parent


def explained(*arguments):
    return subprocess.run([sys.executable, "-m", "weir.flight", *map(str, arguments)], text=True,
                          capture_output=True, check=False, timeout=600)


class Flight(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.path = self.folder / "job.weirflight"

    def fail_with(self, deed, *options, ranks=3):
        """Runs a job of three ranks, of which rank 1 does the deed in the middle of a step."""
        return subprocess.run(
            [WEIRRUN, "-np", str(ranks), "--flight-recording", self.path, *options, DOOMED_RANK, "1", "dgc",
             deed], text=True, capture_output=True, check=False, timeout=600, cwd=self.folder)

    def test_a_killed_rank_is_named_first(self):
        self.fail_with("kill")
        self.assertFalse((self.folder / "job.rank1.weirflight").exists())
        done = explained(self.path)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        first = done.stdout.splitlines()[0]
        self.assertTrue(first.startswith("Look at rank 1 first: no recording was left."), first)
        for survivor in (0, 2):
            self.assertRegex(done.stdout,
                             rf"(?m)^rank {survivor} on .*: failure: rank 1 on localhost is lost: "
                             r"signal 9 \(Killed\).*\n  its last stage was \w+ of '.*' in step \d+, ")
        self.assertIn("rank 1 of 3: no recording\n", done.stdout)

    def test_what_a_larger_job_has_left_is_of_no_rank_of_this_one(self):
        self.fail_with("unwind", ranks=4)
        self.assertTrue((self.folder / "job.rank3.weirflight").exists())
        self.fail_with("unwind")
        self.assertTrue((self.folder / "job.rank3.weirflight").exists())
        ranks = flight.read([str(self.path)])
        self.assertEqual([(rank.rank, rank.size) for rank in ranks], [(0, 3), (1, 3), (2, 3)])
        self.assertEqual(len({rank.job for rank in ranks}), 1)
        every = sorted(map(str, self.folder.glob("*.weirflight")))
        self.assertEqual([rank.rank for rank in flight.read(every)], [0, 1, 2])
        self.assertEqual([rank.rank for rank in flight.read([str(self.folder / "job.rank3.weirflight")])], [3])
        self.assertIn("of another job, and left out: " + str(self.folder / "job.rank3.weirflight"),
                      explained(*every).stderr)
        log = runlog.read(self.path)
        self.assertEqual((log.ranks, log.ranks_of_other_jobs), ([0, 1, 2], [3]))
        self.assertEqual(set(log.stages()["rank"]), {0, 1, 2})

    def test_a_rank_that_fails_by_itself_says_why(self):
        self.fail_with("unwind")
        ranks = flight.read([str(self.path)])
        self.assertEqual([rank.rank for rank in ranks], [0, 1, 2])
        self.assertIn("was destroyed in the middle of step 5", ranks[1].reason)
        # And the ranks that had not submitted what others waited for had no time to.
        self.assertRegex(explained(self.path).stdout, r"^Rank 1 ended the job: .* was destroyed in the middle of step 5")

    def test_that_there_is_no_recording_is_said(self):
        done = explained(self.folder / "none.weirflight")
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"there is no {self.folder / 'none.weirflight'}: a rank leaves one when", done.stderr)

    def test_the_last_stages_of_every_rank_are_there(self):
        self.fail_with("kill")
        log = runlog.read(self.path)
        self.assertEqual(log.ranks, [0, 2])
        for rank in log.ranks:
            stages = log.stages(rank)
            # A survivor may be a step behind the one that died in step 5.
            self.assertGreaterEqual(max(stages["step"]), 4)
            self.assertTrue(all(log.buckets(rank)[number]["name"].startswith("model")
                                for number in stages["bucket"]))

    def recorded(self, job, enough):
        """Returns the recordings of a running job's three ranks, once there are enough."""
        ranks = []
        while len(ranks) < 3 or not enough(ranks):
            self.assertIsNone(job.poll(), "the job has ended")
            try:
                ranks = flight.read([str(self.path)])
            except OSError:
                pass
            self.let_run(job)
        return ranks

    def test_a_tensor_that_one_rank_does_not_submit_is_named_with_the_rank(self):
        job = self.launch("--stall-check-warning-time-seconds", "0.2", sys.executable,
                          HERE / "stalled_rank.py", "1")
        # As soon as both have been asked while they waited.
        ranks = self.recorded(job, lambda ranks: ranks[0].under_way and ranks[2].under_way)
        text = flight.explain(ranks)
        self.assertIn("Rank 1 held the others up", text.splitlines()[0])
        self.assertRegex(text, r"'allreduce.late' had been ready for \d+.* on ranks 0, 2, and was not under way "
                               r"on rank 1")
        self.assertIn("the last it finished was 'allreduce.early'", text)

    def ask(self, job, before=()):
        """Makes every rank of a running job write its recording; returns them. `before`: their earlier
        recordings."""
        job.send_signal(signal.SIGUSR1)
        ranks = []
        while len(ranks) < 3 or ranks == list(before):
            self.assertIsNone(job.poll(), "the job has ended")
            try:
                ranks = flight.read([str(self.path)])
            except (OSError, ValueError):
                pass  # Not yet.
            self.let_run(job)
        return ranks

    def let_run(self, job):
        try:
            job.wait(0.05)
        except subprocess.TimeoutExpired:
            pass

    def processes(self, program, variable=None):
        """Pids of a program in this test's job, which is the one in its folder."""
        pids = []
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if ((process / "cwd").resolve() == self.folder.resolve()
                        and (process / "exe").resolve() == pathlib.Path(program).resolve()
                        and (variable is None
                             or variable in (process / "environ").read_bytes().split(b"\0"))):
                    pids.append(int(process.name))
            except OSError:
                pass  # It has ended, or is another user's.
        return pids

    def launch(self, *command, path=None):
        """Starts a job of three ranks that goes on; its output is on a pipe."""
        job = subprocess.Popen(
            [WEIRRUN, "-np", "3", "--flight-recording", path or self.path, *map(str, command)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            start_new_session=True, cwd=self.folder)
        self.addCleanup(job.stdout.close)
        self.addCleanup(job.wait)
        self.addCleanup(lambda: job.poll() is None and os.killpg(job.pid, signal.SIGTERM))
        return job

    def line(self, job, part):
        for line in job.stdout:
            if part in line:
                return line
        raise AssertionError(f"the job has ended without {part!r}")

    def test_a_signal_to_weirrun_has_every_rank_write_while_the_job_goes_on(self):
        job = self.launch(DOOMED_RANK, "1", "dgc", "go-on")
        self.line(job, "goes on")
        first = self.ask(job)
        self.assertIn("ranks 0-2 on localhost write flight recordings", self.line(job, "flight"))
        self.assertEqual([(rank.rank, rank.event, rank.request) for rank in first],
                         [(0, "request", 1), (1, "request", 1), (2, "request", 1)])
        # Supervisors have weirrun's name: a signal to all of them does no harm.
        supervisors = [pid for pid in self.processes(WEIRRUN) if pid != job.pid]
        self.assertGreaterEqual(len(supervisors), 3)
        for pid in supervisors:
            os.kill(pid, signal.SIGUSR1)
        second = self.ask(job, first)
        self.assertEqual([rank.request for rank in second], [2, 2, 2])
        for before, after in zip(first, second):
            self.assertLess(before.time_ns, after.time_ns)
        self.assertIsNone(job.poll(), "it goes on")
        self.assertRegex(flight.explain(second), r"(?m)^rank 2 on .*: request: weirrun was asked for it\n"
                                                 r"  its last stage was \w+ of '.*' in step \d+, ")

    def test_a_rank_that_does_not_answer_the_signal_is_named(self):
        job = self.launch(DOOMED_RANK, "1", "dgc", "go-on")
        self.line(job, "goes on")
        self.ask(job)
        stopped = self.path.with_name("job.rank1.weirflight")
        before = stopped.read_bytes()
        [pid] = self.processes(DOOMED_RANK, b"PMI_RANK=1")
        os.kill(pid, signal.SIGSTOP)
        # Its threads stop one after the other.
        while any(" T " not in stat.read_text() for stat in
                  pathlib.Path(f"/proc/{pid}/task").glob("*/stat")):
            self.let_run(job)
        self.addCleanup(lambda: job.poll() is None and os.kill(pid, signal.SIGKILL))
        job.send_signal(signal.SIGUSR1)
        ranks = []
        while [rank.rank for rank in ranks] != [0, 2]:
            self.assertIsNone(job.poll(), "the job has ended")
            ranks = flight.read([str(self.path)])
            self.let_run(job)
        self.assertEqual(stopped.read_bytes(), before)
        text = flight.explain(ranks)
        self.assertTrue(text.startswith("Look at rank 1 first: no recording was left."), text)

    def test_where_none_are_kept_the_signal_says_so(self):
        job = self.launch(DOOMED_RANK, "1", "dgc", "go-on", path="none")
        self.line(job, "goes on")
        job.send_signal(signal.SIGUSR1)
        self.assertIn("--flight-recording none keeps nothing", self.line(job, "flight"))

    def test_a_recording_of_an_earlier_job_is_not_taken_for_one_of_this(self):
        self.fail_with("unwind")
        self.assertTrue((self.folder / "job.rank1.weirflight").exists())
        self.fail_with("kill")
        self.assertFalse((self.folder / "job.rank1.weirflight").exists())
        self.assertIn("Look at rank 1 first", explained(self.path).stdout)

    def test_any_ranks_file_finds_the_others_beside_it(self):
        self.fail_with("kill")
        whole = explained(self.path)
        self.assertEqual(explained(self.folder / "job.rank2.weirflight").stdout, whole.stdout)
        self.path.unlink()
        alone = explained(self.folder / "job.rank2.weirflight")
        self.assertIn("Look at ranks 0, 1 first", alone.stdout)

    def test_rank_0s_file_may_be_called_like_another_ranks(self):
        self.path = self.folder / "job.rank1.weirflight"
        self.fail_with("kill")
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()),
                         ["job.rank1.rank2.weirflight", "job.rank1.weirflight"])
        self.assertEqual([rank.rank for rank in flight.read([str(self.path)])], [0, 2])

    def test_a_folder_that_takes_no_recording_is_named_at_the_start(self):
        self.path = self.folder / "missing" / "job.weirflight"
        done = subprocess.run([WEIRRUN, "-np", "2", "--flight-recording", self.path, sys.executable, "-c",
                               "import weir.torch as hvd; hvd.init()"],
                              text=True, capture_output=True, check=False, timeout=600, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr.count("no flight recording can be kept"), 1, done.stderr)
        self.assertIn(f"cannot write {self.path}: No such file", done.stderr)

    def test_a_rank_that_has_joined_holds_nobody_up(self):
        job = self.launch("--stall-check-warning-time-seconds", "0.2", sys.executable,
                          HERE / "stalled_rank.py", "1", "2")
        ranks = self.recorded(job, lambda ranks: ranks[0].under_way and ranks[2].joined)
        text = flight.explain(ranks)
        self.assertTrue(text.startswith("Rank 1 held the others up"), text)
        self.assertRegex(text, r"on rank 0, and was not under way on rank 1\n")
        # So do the warnings, once they know.
        self.assertIn("submitted by ranks [0] ", self.line(job, "but not by ranks [1] ("))
        self.assertRegex(text, r"(?m)^rank 2 on .*\n.*\n  it had joined: it had no more data")

    def test_none_keeps_nothing(self):
        self.fail_with("kill", "--flight-recording", "none")
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_what_is_no_recording_is_refused_by_name(self):
        missing = explained(self.path)
        self.assertEqual(missing.returncode, 1)
        self.assertIn("job.weirflight", missing.stderr)
        self.path.write_bytes(b"no recording at all" * 10)
        damaged = explained(self.path)
        self.assertEqual(damaged.returncode, 1)
        self.assertIn("job.weirflight", damaged.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
