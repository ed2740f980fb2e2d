"""A job with a stalled tensor, as it reports itself. Arguments: weirrun, problems."""

import json
import os
import pathlib
import re
import subprocess
import sys
import unittest
import urllib.error
import urllib.request

import jsonschema
from job import Job
from weir import top
from weir._following import Endpoint, Rank

SCHEMA = json.loads((pathlib.Path(__file__).resolve().parents[2] / "docs" / "reference"
                     / "monitoring.schema.json").read_text(encoding="utf-8"))
RANKS = 3


def get(url):
    with urllib.request.urlopen(url, timeout=20) as reply:
        return reply.read().decode()


def check(answer):
    jsonschema.Draft202012Validator({"$ref": "#/$defs/stalls", **SCHEMA}).validate(answer)


class Stall(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.job = Job(cls, RANKS, environment={"WEIR_STALL_CHECK_TIME_SECONDS": "1"},
                      arguments=("stalled-tensor", "--steps", "1000000"))
        cls.before = cls.job.until(lambda: json.loads(get(f"{cls.job.url}/stalls")))
        cls.stalls = cls.job.until(cls.stalled)

    @classmethod
    def stalled(cls):
        """Returns once the tensor is known not to be a late one."""
        stalls = json.loads(get(f"{cls.job.url}/stalls"))
        return stalls if "metrics/loss" in [tensor["name"] for tensor in stalls["tensors"]] else None

    def test_rank_0_names_it_and_the_rank_that_misses_it(self):
        check(self.before)
        self.assertEqual((self.before["tensors"], self.before["left_out"]), ([], 0))
        check(self.stalls)
        tensor = next(tensor for tensor in self.stalls["tensors"] if tensor["name"] == "metrics/loss")
        self.assertEqual(tensor["missing_ranks"], [1])
        self.assertGreaterEqual(tensor["waited_seconds"], 0.5)

    def test_other_ranks_know_nothing_of_it(self):
        with self.assertRaises(urllib.error.HTTPError) as refused:
            get(f"http://127.0.0.1:{self.job.port + 1}/stalls")
        self.assertEqual(refused.exception.code, 404)
        refused.exception.close()

    def test_weir_top_shows_it(self):
        line = re.compile(r"^stalled: 'metrics/loss' has waited \d+ s; not submitted by ranks \[1\]$",
                          re.MULTILINE)
        # /log, which weir-top reads, gets it a little later than /stalls.
        self.job.until(lambda: line.search(self.top()))

    def top(self):
        return subprocess.run([sys.executable, "-m", "weir.top", "--once", self.job.url], text=True,
                              timeout=600, capture_output=True, check=True, env=os.environ).stdout

    def test_the_schema_refuses_what_is_not_of_it(self):
        for wrong in ({**self.stalls, "left_out": -1}, {"time_ns": 1, "tensors": []},
                      {**self.stalls, "tensors": [{"name": "x"}]}):
            with self.assertRaises(jsonschema.ValidationError):
                check(wrong)


class Top(unittest.TestCase):
    def test_a_stall_is_shown_with_the_time_since_then_until_it_is_over(self):
        rank = Rank(Endpoint("http://127.0.0.1:1"), 0)
        rank.states.append({"time_ns": 5_000_000_000, "sent_bytes": 0, "stalled_tensors": 2})
        tensor = {"name": "w", "process_set": 3, "waited_seconds": 60.0, "missing_ranks": [1, 2]}
        rank.stalls = {"time_ns": 2_000_000_000, "tensors": [tensor], "left_out": 4}
        lines = top.page([rank], 1).splitlines()
        self.assertIn("stalled: 'w' of process set 3 has waited 63 s; not submitted by ranks [1, 2]", lines)
        self.assertIn("stalled: 4 more tensors", lines)
        rank.stalls = {"time_ns": 3_000_000_000, "tensors": [], "left_out": 0}
        self.assertNotIn("stalled:", top.page([rank], 1))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
