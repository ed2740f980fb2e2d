"""The run logs of examples/problems show what examples/problems/README.md says. Arguments: weirrun,
problems."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy

from weir import flight, runlog

WEIRRUN, PROBLEMS = sys.argv[1:3]
RANKS = 4
STEPS = {"none": 240, "fast-warmup": 240}  # What levels off takes a while.


class Problems(unittest.TestCase):
    logs = {}  # By problem: tests look at the same ones.

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_job(self, problem, *options, steps):
        return subprocess.run(
            [WEIRRUN, "-np", str(RANKS), "--record", self.folder / f"{problem}.weirlog", *options,
             PROBLEMS, problem, "--steps", str(steps)],
            text=True, capture_output=True, check=False, timeout=600, cwd=self.folder)

    def log(self, problem):
        if problem not in self.logs:
            done = self.run_job(problem, steps=STEPS.get(problem, 60))
            self.assertEqual(done.returncode, 0, done.stderr)
            log = runlog.read(self.folder / f"{problem}.weirlog")
            self.assertEqual(log.ranks, list(range(RANKS)))
            self.logs[problem] = log
        return self.logs[problem]

    @staticmethod
    def share(log, column, rank=None):
        """Median part of a step's time."""
        steps = log.steps(rank)
        return numpy.median(steps[column] / (steps["end_ns"] - steps["start_ns"]))

    def test_a_slow_rank_is_the_one_that_does_not_wait(self):
        log = self.log("slow-rank")
        waits = [self.share(log, "exposed_communication_ns", rank) for rank in range(RANKS)]
        self.assertEqual(numpy.argmin(waits), 2, waits)
        self.assertLess(waits[2], min(waits[:2] + waits[3:]) / 2, waits)

    def test_compression_that_costs_too_much_is_what_a_step_waits_for(self):
        costly, sound = self.log("costly-compression"), self.log("none")
        self.assertGreater(self.share(costly, "exposed_compression_ns"), 0.1)
        # The times themselves: a step that waits is longer, so that its parts grow less than they do.
        waits = [numpy.median(log.steps(None)["exposed_compression_ns"]) for log in (costly, sound)]
        self.assertGreater(waits[0], 5 * waits[1])

    def test_a_warm_up_that_is_too_fast_keeps_much_back_at_once(self):
        def kept(log):
            gradients = log.gradients(0)
            measured = (gradients["residual_ratio"] >= 0) & (gradients["step"] < 30)
            self.assertGreater(numpy.count_nonzero(measured), 20)
            return numpy.median(gradients["residual_ratio"][measured])

        self.assertGreater(kept(self.log("fast-warmup")), 2 * kept(self.log("none")))

    def test_the_threshold_of_a_warm_up_that_is_too_fast_does_not_level_off(self):
        def growth(log):
            """From steps 100 to 139 on to steps 200 to 239."""
            gradients = log.gradients(0)
            step, threshold = gradients["step"], gradients["threshold"]
            before, after = (threshold[(begin <= step) & (step < begin + 40)] for begin in (100, 200))
            return numpy.median(after) / numpy.median(before)

        self.assertGreater(growth(self.log("fast-warmup")), 1.2)
        self.assertLess(growth(self.log("none")), 1.0)

    def test_a_stalled_tensor_is_named_with_the_rank_that_lacks_it(self):
        done = self.run_job("stalled-tensor", "--stall-check-warning-time-seconds", "1",
                            "--stall-check-shutdown-time-seconds", "3",
                            "--flight-recording", self.folder / "job.weirflight", steps=400)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("metrics/loss", done.stderr)
        told = subprocess.run([sys.executable, "-m", "weir.flight", self.folder / "job.weirflight"],
                              text=True, capture_output=True, check=True, timeout=600).stdout
        self.assertTrue(told.startswith("Rank 1 went another way than the others: they waited for "
                                        "'metrics/loss', which was not submitted there.\n"), told)
        stalls = runlog.read(self.folder / "stalled-tensor.weirlog").stalls()
        loss = [tensor for tensor in stalls[-1]["tensors"] if tensor["name"] == "metrics/loss"]
        self.assertEqual([tensor["missing_ranks"] for tensor in loss], [[1]], stalls)
        self.assertEqual(len(flight.read([str(self.folder / "job.weirflight")])), RANKS)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
