"""The end of a job, for its followers and in its logs. Arguments: weirrun, ending_rank."""

import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

from job import Job
from weir import runlog, top
from weir._following import ranks_of

RANKS = 3


class Followed(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = pathlib.Path(folder.name) / "end"

    def follow_to_the_end(self, how):
        """The ranks, once the job has ended and they have said so."""
        job = Job(self, RANKS, arguments=(str(self.file),))
        ranks = job.until(lambda: ranks_of(job.url))
        for rank in ranks:
            rank.follow()
            self.addCleanup(rank.give_up)
        job.until(lambda: all(len(rank.steps) > 3 for rank in ranks))
        written = self.file.with_suffix(".part")
        written.write_text(how)
        written.rename(self.file)
        job.process.wait()
        for rank in ranks:  # A rank that has not seen the end now meets a closed port.
            while rank.end is None and not rank.trouble:
                time.sleep(0.01)
        return ranks

    def test_a_job_that_ends_well_is_not_lost(self):
        ranks = self.follow_to_the_end("well")
        self.assertEqual([rank.end["failure"] for rank in ranks], [""] * RANKS)
        # Nothing is missing at the end: all took the same steps.
        self.assertEqual(len({rank.steps[-1]["step"] for rank in ranks}), 1)
        for rank in ranks:
            rank.look()  # Nobody is there.
        rows = top.page(ranks, 0).splitlines()[3:]
        self.assertEqual([row.split()[-1] for row in rows], ["ended"] * RANKS)

    def test_why_a_job_failed_is_said_by_every_rank(self):
        ranks = self.follow_to_the_end("the data set is gone")
        for rank in ranks:
            self.assertIn("the data set is gone", rank.end["failure"])
        self.assertEqual(top.page(ranks, 0).count("  failed: "), RANKS)


class Recorded(unittest.TestCase):
    def record(self, how):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        end, log = pathlib.Path(folder.name) / "end", pathlib.Path(folder.name) / "run.weirlog"
        end.write_text(how)
        weirrun, program = sys.argv[1:3]
        subprocess.run([weirrun, "-np", str(RANKS), "--record", log, program, end], check=False,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return runlog.read(log)

    def test_a_log_says_how_its_rank_ended(self):
        log = self.record("well")
        for rank in range(RANKS):
            self.assertEqual(log.end(rank)["failure"], "")
            self.assertGreater(log.end(rank)["time_ns"], 0)
        log = self.record("the data set is gone")
        for rank in range(RANKS):
            self.assertIn("the data set is gone", log.end(rank)["failure"])
        self.assertIsNone(log.end(RANKS), "there is no such rank")

    def test_a_rank_that_still_wanted_something_has_failed(self):
        log = self.record("early")
        self.assertEqual(log.end(1)["failure"], "")
        for rank in (0, 2):
            self.assertIn("rank 1 called Shutdown or destroyed its engine", log.end(rank)["failure"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
