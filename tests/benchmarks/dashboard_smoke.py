"""The benchmark dashboard as a whole, on a job so small that it takes seconds."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PAGES = {"lanes", "layers", "sparsity", "bandwidth", "decisions", "ranks"}


def run():
    """The report of the benchmark."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "report.json"
        done = subprocess.run(
            [os.environ["DASHBOARD_BENCHMARK"], "--layers", "20", "--ranks", "3", "--steps", "60",
             "--seconds", "0.2", "--folder", folder, "--json", file],
            stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            sys.exit(f"dashboard ended with {done.returncode}")
        if os.listdir(folder) != ["report.json"]:
            sys.exit(f"the recording is left behind: {os.listdir(folder)}")
        return json.loads(file.read_text())


class Smoke(unittest.TestCase):
    report = {}

    def test_every_page_was_used_recorded_and_live(self):
        for job in ("recorded", "live"):
            found = {row["page"]: row["frames"] for row in self.report["rows"]
                     if (row["job"], row["display"]) == (job, "offscreen")}
            self.assertLessEqual(PAGES, set(found))
            self.assertEqual(found.pop("(all)"), sum(found.values()))
            self.assertGreater(min(found.values()), 1)

    def test_each_window_is_held_to_all_targets(self):
        names = [target["name"] for target in self.report["targets"]]
        windows = {name.partition(":")[0] for name in names}
        self.assertLessEqual({"recorded, offscreen", "live, offscreen"}, windows)
        for what in ("frames a second", "95 % of frames, ms", "peak memory, MB", "open, s"):
            self.assertEqual({f"{window}: {what}" for window in windows},
                             {name for name in names if name.endswith(f": {what}")})

    def test_figures_are_of_a_window_that_was_there(self):
        values = {target["name"]: target["value"] for target in self.report["targets"]}
        self.assertGreater(values["recorded, offscreen: peak memory, MB"], 10)
        self.assertGreater(values["live, offscreen: open, s"], 0)


if __name__ == "__main__":
    Smoke.report = run()
    unittest.main()
