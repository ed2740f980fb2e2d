"""The benchmark train-quality as a whole: a job of 2 ranks, the shortest runs of one model and seed,
then again with the rows in the file."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

BENCHMARKS = pathlib.Path(__file__).resolve().parents[2] / "benchmarks" / "python"
CONFIGS = ("dense", "dgc", "gradient-dropping", "powersgd", "dgc-look-ahead")


def run(path, *, minutes=None):
    """(the report, how many runs were measured)."""
    before = len(json.loads(path.read_text())["rows"]) if path.exists() else 0
    limit = [] if minutes is None else ["--minutes", str(minutes)]
    done = subprocess.run(
        [sys.executable, BENCHMARKS / "train_quality.py", "--json", path, "--seeds", "1", *limit,
         "--only", f"digits,high,short,ablation,compressors,beyond,{','.join(CONFIGS)}"],
        stdin=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        sys.exit(f"train_quality.py ended with {done.returncode}")
    report = json.loads(path.read_text())
    return report, len(report["rows"]) - before


class Smoke(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "records.json"

    def test_it_trains_goes_on_where_it_stopped_and_repeats_itself_bit_for_bit(self):
        report, _ = run(self.path)
        rows = {row["config"]: row for row in report["rows"]}
        self.assertEqual(set(CONFIGS), set(rows))
        self.assertGreater(rows["dense"]["score"], 80)  # Guessing: 10.
        self.assertEqual(rows["dense"]["sent"], rows["dense"]["dense"])
        for config in ("dgc", "gradient-dropping"):
            self.assertLess(rows[config]["sent"], rows["dense"]["sent"] / 30)
            self.assertGreater(rows[config]["score"], 30)

        # As if it had been interrupted before the last two.
        kept = [row for row in report["rows"] if row["config"] in ("dense", "powersgd")]
        self.path.write_text(json.dumps({**report, "rows": kept}))
        again, measured = run(self.path)
        self.assertEqual(measured, len(rows) - 2)
        for row in again["rows"]:
            old = rows[row["config"]]
            self.assertEqual({**row, "seconds": 0}, {**old, "seconds": 0})
        self.assertEqual(again["targets"], report["targets"])

    def test_without_time_it_only_reports(self):
        report, measured = run(self.path, minutes=0)
        self.assertEqual((measured, report["rows"], report["targets"]), (0, [], []))


if __name__ == "__main__":
    unittest.main()
