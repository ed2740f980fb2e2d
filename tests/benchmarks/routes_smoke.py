"""The benchmark routes as a whole: two jobs, a step of small gradients of each route."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

BENCHMARKS = pathlib.Path(__file__).resolve().parents[2] / "benchmarks" / "python"
sys.path.insert(0, str(BENCHMARKS))

from routes_table import ROUTES  # noqa: E402

SKIPPED = 77
DENSITIES = [0.01, 0.25]


def run():
    """Returns the report of the benchmark; ends this program as skipped if no network is possible."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "report.json"
        done = subprocess.run(
            [sys.executable, BENCHMARKS / "routes.py", "--jobs", "2,2x2", "--rate", "none",
             "--densities", ",".join(map(str, DENSITIES)), "--steps", "1", "--small",
             "--json", file], stdin=subprocess.DEVNULL)
        if done.returncode == SKIPPED:
            sys.exit(SKIPPED)
        if done.returncode != 0:
            sys.exit(f"routes.py ended with {done.returncode}")
        return json.loads(file.read_text())


class Smoke(unittest.TestCase):
    report = {}

    def test_every_route_that_there_is_was_measured_in_both_jobs(self):
        for slots in (1, 2):
            found = {(row["route"], row["density"]) for row in self.report["rows"]
                     if row["ranks on a host"] == slots}
            self.assertEqual(found, {
                (name, density) for name, route in ROUTES.items() for density in DENSITIES
                if name not in self.report["refused"] and route.least_on_host <= slots
                and (route.compresses or density == DENSITIES[0])})

    def test_payloads_are_the_exact_count(self):
        target = self.report["targets"][0]
        self.assertEqual((target["name"], target["value"]),
                         ("steps of a rank whose payload is not the exact count", 0))

    def test_interfaces_carry_the_payload_and_headers(self):
        for row in self.report["rows"]:
            # So little is sent here that headers and rounds count for more than 5 %.
            rest = row["interface"] - row["leaving a host"] - row["headers"]
            self.assertGreater(rest, 0, row)
            self.assertLess(rest, 0.02 * row["leaving a host"] + 2000, row)


if __name__ == "__main__":
    Smoke.report = run()
    unittest.main()
