"""Tests of examples/01-byte-lm/experiment.py, with a stand-in for the trained program."""

import contextlib
import io
import json
import pathlib
import sys
import tempfile
import unittest
import xml.etree.ElementTree

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "01-byte-lm"
sys.path.insert(0, str(EXAMPLE))

import experiment  # noqa: E402
from paired import paired_difference  # noqa: E402

# Best at rate 0.2, compressed 0.01 worse; says in a file beside its result that it ran.
FAKE_PROGRAM = """
import json, pathlib, sys
a = dict(zip(sys.argv[1::2], sys.argv[2::2]))
rate, seed = float(a["--lr"]), int(a["--seed"])
bits = 2.7 + (rate - 0.2) ** 2 + 0.1 * seed + (0.0 if a["--compressor"] == "dense" else 0.01)
out = pathlib.Path(a["--json"])
with open(out.parent / "log", "a") as log:
    log.write(a["--compressor"] + "\\n")
out.write_text(json.dumps({"bits_per_byte": None if rate > 0.4 else bits, "parameters": 10, "settings": {"eval_windows": 8},
    "curve": [[500, 3.5], [1000, bits]], "training_seconds": 1.0, "sent_bytes": 100,
    "dense_bytes": 4000}))
"""


def run_experiment(folder, *arguments):
    program = folder / "program.py"
    program.write_text(FAKE_PROGRAM)
    with contextlib.redirect_stdout(io.StringIO()):
        return experiment.main(["--out", str(folder / "runs"), "--report", str(folder),
                                "--launcher", sys.executable, "--program", str(program),
                                *arguments])


class PairedDifference(unittest.TestCase):
    def test_interval_is_students_for_three_seeds(self):
        mean, half = paired_difference({1: 1.0, 2: 2.0, 3: 3.0},
                                                         {1: 1.1, 2: 2.2, 3: 3.3})
        self.assertAlmostEqual(mean, 0.2)
        self.assertAlmostEqual(half, 4.303 * 0.1 / 3 ** 0.5)

    def test_one_seed_says_nothing_about_spread(self):
        self.assertEqual(paired_difference({1: 1.0}, {1: 1.5}),
                         (0.5, float("inf")))


class Experiment(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.replace("SEEDS", (1, 2))
        self.use_rates((0.1, 0.2, 0.5))

    def replace(self, name, value):
        self.addCleanup(setattr, experiment, name, getattr(experiment, name))
        setattr(experiment, name, value)

    def test_other_seeds_run_at_the_best_rate_only(self):
        run_experiment(self.folder)
        self.assertEqual(sorted(p.stem for p in (self.folder / "runs").glob("*seed2.json")),
                         ["dense-rate0.2-seed2", "dgc-rate0.2-seed2"])

    def use_rates(self, rates):
        self.replace("METHODS", {n: {**m, "rates": rates} for n, m in experiment.METHODS.items()})

    def runs_done(self):
        return len((self.folder / "runs" / "log").read_text().splitlines())

    def test_reports_the_best_rates_and_the_difference(self):
        self.assertEqual(run_experiment(self.folder), 0)
        report = (self.folder / "byte-lm.md").read_text()
        self.assertIn("+0.0100 bits per byte", report)
        self.assertIn("diverged", report)
        self.assertIn("| dense | 0.2 | yes |", report)
        self.assertIn("40.0x", report)
        xml.etree.ElementTree.fromstring((self.folder / "byte-lm.svg").read_text())

    def test_a_kept_run_is_not_run_again(self):
        run_experiment(self.folder)
        total = self.runs_done()
        (self.folder / "runs" / "dense-rate0.1-seed1.json").unlink()
        run_experiment(self.folder)
        self.assertEqual(self.runs_done(), total + 1)

    def test_results_of_other_settings_are_refused(self):
        run_experiment(self.folder)
        with self.assertRaisesRegex(SystemExit, "steps"):
            run_experiment(self.folder, "--steps", "77")

    def test_a_failing_run_is_named(self):
        with self.assertRaisesRegex(SystemExit, "dense-rate.*failed"):
            with contextlib.redirect_stdout(io.StringIO()):
                experiment.main(["--out", str(self.folder), "--report", str(self.folder),
                                 "--launcher", "", "--program", "false"])

    def test_a_best_rate_at_the_edge_fails(self):
        self.use_rates((0.2, 0.3))
        with contextlib.redirect_stderr(io.StringIO()):
            self.assertEqual(run_experiment(self.folder), 1)
        self.assertIn("**no**", (self.folder / "byte-lm.md").read_text())


if __name__ == "__main__":
    unittest.main()
