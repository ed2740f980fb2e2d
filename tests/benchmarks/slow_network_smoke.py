"""The benchmark slow-network as a whole: 2 hosts, every column, a step each of small gradients."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

BENCHMARKS = pathlib.Path(__file__).resolve().parents[2] / "benchmarks" / "python"
sys.path.insert(0, str(BENCHMARKS))

import gradient_sets  # noqa: E402
from slow_network_columns import COLUMNS  # noqa: E402

SKIPPED = 77


def run():
    """Returns the report of the benchmark; ends this program as skipped if no network is possible."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "report.json"
        done = subprocess.run(
            [sys.executable, BENCHMARKS / "slow_network.py", "--hosts", "2", "--rates", "none",
             "--shapes", "tiny,tiny", "--rounds", "1", "--steps", "1", "--backprop", "0,0.01",
             "--json", file], stdin=subprocess.DEVNULL)
        if done.returncode == SKIPPED:
            sys.exit(SKIPPED)
        if done.returncode != 0:
            sys.exit(f"slow_network.py ended with {done.returncode}")
        return json.loads(file.read_text())


class Smoke(unittest.TestCase):
    report = {}

    def sent(self, column):
        """MB that a host sends in a step without backprop."""
        return next(row["MB"] for row in self.report["rows"]
                    if row["column"] == column and row["backprop"] == 0)

    def test_every_column_takes_its_steps_with_and_without_backprop(self):
        rows = self.report["rows"]
        # The set was asked for twice: existing rows are not measured again.
        self.assertEqual(len(rows), 2 * len(COLUMNS))
        self.assertEqual({(row["column"], row["backprop"]) for row in rows},
                         {(column, backprop) for column in COLUMNS for backprop in (0, 0.01)})
        for row in rows:
            self.assertEqual((row["shape"], row["rate"]), ("tiny", "none"))
            self.assertEqual((row["steps"], len(row["times"])), (1, 1))
            self.assertGreaterEqual(row["seconds"], row["backprop"], row)
            self.assertGreater(row["TCP, Mb/s"], 0)

    def test_dense_columns_send_what_an_all_reduce_has_to(self):
        # 2 (P - 1) / P times the gradients; headers of frames, TCP and IP are a few percent.
        dense = 4e-6 * gradient_sets.elements(gradient_sets.tiny())
        for column, part in (("ddp", 1), ("weir-dense", 1), ("ddp-fp16", 0.5), ("weir-fp16", 0.5)):
            self.assertGreaterEqual(self.sent(column), part * dense, column)
            self.assertLess(self.sent(column), 1.1 * part * dense, column)

    def test_compressed_columns_send_less(self):
        order = ["ddp", "weir-int8", "weir-dithering", "weir-onebit", "weir-topk", "weir-dgc"]
        sent = [self.sent(column) for column in order]
        self.assertEqual(sent, sorted(sent, reverse=True), order)
        ranks = [self.sent(f"ddp-powersgd-{rank}") for rank in (1, 2, 4)]
        self.assertEqual(ranks, sorted(ranks))
        self.assertLess(ranks[-1], self.sent("ddp") / 10)

    def test_dense_is_held_to_ddp(self):
        self.assertEqual([target["name"] for target in self.report["targets"]],
                         ["unshaped, tiny, backprop 0 s: Weir's dense / DDP",
                          "unshaped, tiny, backprop 0.01 s: Weir's dense / DDP"])


if __name__ == "__main__":
    Smoke.report = run()
    unittest.main()
