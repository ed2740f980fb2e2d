"""Every route hands exactly the counted bytes to the transport, on every rank and in each step:
benchmarks/python/routes_ranks.py in jobs on this machine, without a network of its own."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks" / "python"))

from routes_table import ROUTES  # noqa: E402

WEIRRUN = os.environ.get("WEIR_RUN_PROGRAM", ROOT / "build/release/bin/weirrun")
FLAT = ["dense", "allgather", "split", "push_pull"]
# From one entry of a small tensor to sums that go as an array.
DENSITIES = [0.001, 0.0625, 0.3, 0.97, 1]


def records_of(hosts, slots):
    """Records of all ranks of a job whose hosts exist only for a stand-in of ssh."""
    on_hosts = []
    if slots > 1:
        on_hosts = ["-H", ",".join(f"node-{host}:{slots}" for host in range(hosts)),
                    "--network-interface", "lo"]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "options.json").write_text(json.dumps(
            {"hosts": hosts, "slots": slots, "densities": DENSITIES, "routes": list(ROUTES),
             "warmup": 0, "steps": 2, "small": True}))
        ranks = hosts * slots
        subprocess.run(
            [WEIRRUN, "-np", str(ranks), *on_hosts, sys.executable,
             ROOT / "benchmarks/python/routes_ranks.py", folder],
            check=True, stdin=subprocess.DEVNULL, timeout=600,
            env={**os.environ, "OMP_NUM_THREADS": "1",
                 "HYDRA_LAUNCHER_EXEC": str(ROOT / "tests/launcher/stand_ins/here_instead_of_ssh.sh")})
        found = [json.loads((folder / f"rank{rank}.json").read_text()) for rank in range(ranks)]
        for report in found:
            if report["refused"]:
                raise AssertionError(f"refused: {report['refused']}")
        return [{"rank": rank, **record} for rank, report in enumerate(found)
                for record in report["records"]]


class Counts(unittest.TestCase):
    def check(self, hosts, slots, routes):
        found = records_of(hosts, slots)
        measured = {(record["route"], record["density"]) for record in found}
        self.assertEqual(measured, {(route, density) for route in routes for density in DENSITIES
                                    if ROUTES[route].compresses or density == 0.0625})
        self.assertEqual(len(found), len(measured) * 2 * hosts * slots)
        for record in found:
            self.assertEqual(record["payload"], record["counted"], record)

    def test_two_ranks(self):
        self.check(2, 1, FLAT)

    def test_three_ranks(self):
        self.check(3, 1, FLAT)

    def test_four_ranks(self):
        self.check(4, 1, FLAT)

    def test_two_hosts_of_two_ranks(self):
        self.check(2, 2, [*FLAT, "hierarchical"])


if __name__ == "__main__":
    unittest.main()
