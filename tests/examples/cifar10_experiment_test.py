"""Tests of examples/07-cifar10/experiment.py, with a stand-in for the training."""

import contextlib
import io
import pathlib
import sys
import tempfile
import unittest
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples" / "07-cifar10"))

import experiment  # noqa: E402

# 90 % dense; half a point less in the paper's form, a tenth by the default.
FAKE_PROGRAM = """
import json, pathlib, sys
a = dict(zip(sys.argv[1::2], sys.argv[2::2]))
worse = 0.0 if a["--compression"] == "none" else 0.5 if "masking=true" in a["--compression"] else 0.1
accuracy = 90.0 + int(a["--seed"]) - worse
pathlib.Path(a["--json"]).write_text(json.dumps({"accuracy": accuracy, "parameters": 10, "steps": 100,
    "curve": [[1, 50.0, 2.0], [2, accuracy, 1.0]], "seconds": 1.0, "sent_bytes": 100 if worse else 4000,
    "dense_bytes": 4000}))
"""


class Experiment(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def run_experiment(self, *arguments):
        program = self.folder / "program.py"
        program.write_text(FAKE_PROGRAM)
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            self.assertEqual(experiment.main([
                "--data", "images", "--out", str(self.folder / "runs"), "--report", str(self.folder),
                "--launcher", "", "--program", f"{sys.executable} {program}", *arguments]), 0)
        return said.getvalue()

    def test_reports_accuracies_and_differences(self):
        self.run_experiment("--seeds", "2")
        report = (self.folder / "cifar10.md").read_text()
        self.assertIn("| dense | 91.00, 92.00 | 91.50 |  |", report)
        self.assertIn("-0.50 ± 0.00", report)
        self.assertIn("the paper's form: **not** within", report)
        self.assertIn("the default: within 0.3 points", report)
        self.assertIn("40.0x", report)
        for name in ("accuracy", "loss"):
            xml.etree.ElementTree.fromstring((self.folder / f"cifar10-{name}.svg").read_text())

    def test_one_seed_has_no_interval(self):
        self.run_experiment("--seeds", "1")
        report = (self.folder / "cifar10.md").read_text()
        self.assertNotIn("inf", report)
        self.assertIn("| -0.50 |", report)
        self.assertIn("one seed", report)

    def test_a_further_seed_runs_alone(self):
        self.run_experiment("--seeds", "2")
        said = self.run_experiment("--seeds", "3")
        self.assertEqual(said.count("(kept)"), 6)
        self.assertIn("9/9", said)


if __name__ == "__main__":
    unittest.main()
