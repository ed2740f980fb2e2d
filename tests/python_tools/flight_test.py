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
                          capture_output=True, check=False, timeout=60)


class Flight(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.path = self.folder / "job.weirflight"

    def fail_with(self, deed, *options):
        """A job of three ranks, of which rank 1 does the deed in the middle of a step."""
        return subprocess.run(
            [WEIRRUN, "-np", "3", "--flight-recording", self.path, *options, DOOMED_RANK, "1", "dgc",
             deed], text=True, capture_output=True, check=False, timeout=120, cwd=self.folder)

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

    def test_a_rank_that_fails_by_itself_says_why(self):
        self.fail_with("unwind")
        ranks = flight.read([str(self.path)])
        self.assertEqual([rank.rank for rank in ranks], [0, 1, 2])
        self.assertIn("was destroyed in the middle of step 5", ranks[1].reason)

    def test_the_last_stages_of_every_rank_are_there(self):
        self.fail_with("kill")
        log = runlog.read(self.path)
        self.assertEqual(log.ranks, [0, 2])
        for rank in log.ranks:
            stages = log.stages(rank)
            self.assertIn(5, stages["step"])
            self.assertTrue(all(log.buckets(rank)[number]["name"].startswith("model")
                                for number in stages["bucket"]))

    def test_a_tensor_that_one_rank_does_not_submit_is_named_with_the_rank(self):
        job = subprocess.Popen(
            [WEIRRUN, "-np", "3", "--flight-recording", self.path,
             "--stall-check-warning-time-seconds", "0.2", sys.executable,
             HERE / "stalled_rank.py", "1"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            start_new_session=True, cwd=self.folder)
        self.addCleanup(job.stdout.close)
        self.addCleanup(job.wait)
        self.addCleanup(lambda: job.poll() is None and os.killpg(job.pid, signal.SIGTERM))
        ranks = []
        # As soon as both have been asked while they waited.
        while len(ranks) < 3 or not (ranks[0].under_way and ranks[2].under_way):
            self.assertIsNone(job.poll(), "the job has ended")
            try:
                ranks = flight.read([str(self.path)])
            except OSError:
                pass
            try:
                job.wait(0.05)
            except subprocess.TimeoutExpired:
                pass
        text = flight.explain(ranks)
        self.assertIn("Rank 1 held the others up", text.splitlines()[0])
        self.assertRegex(text, r"'allreduce.late' had been ready for \d+.* on ranks 0, 2, and was not under way "
                               r"on rank 1")
        self.assertIn("the last it finished was 'allreduce.early'", text)

    def test_a_recording_of_an_earlier_job_is_not_taken_for_one_of_this(self):
        self.fail_with("unwind")
        self.assertTrue((self.folder / "job.rank1.weirflight").exists())
        self.fail_with("kill")
        self.assertFalse((self.folder / "job.rank1.weirflight").exists())
        self.assertIn("Look at rank 1 first", explained(self.path).stdout)

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
