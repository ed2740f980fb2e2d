"""A real Prometheus on metrics/prometheus.yml finds all ranks of a running job, its answers equal the
ranks' own counts, and it understands every query of the Grafana dashboard. Arguments: weirrun, byte-lm."""

import json
import math
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

from job import free_ports

ROOT = pathlib.Path(__file__).resolve().parents[2]
RANKS, SKIPPED, SECONDS = 4, 77, 90


def get(url):
    with urllib.request.urlopen(url, timeout=10) as reply:
        return reply.read().decode()


class Watched(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        weirrun, byte_lm = sys.argv[1:3]
        cls.processes = []
        cls.port = free_ports(RANKS + 1)
        cls.prometheus = f"http://127.0.0.1:{cls.port + RANKS}"
        cls.start([weirrun, "-np", str(RANKS), "--metrics-port", str(cls.port), byte_lm,
                   "--steps", "1000000", "--compressor", "dgc", "--quiet"])
        cls.start([ROOT / "scripts" / "monitoring", "--job", f"http://127.0.0.1:{cls.port}", "--listen",
                   f"127.0.0.1:{cls.port + RANKS}"])

    @classmethod
    def start(cls, command):
        process = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, start_new_session=True)
        cls.processes.append(process)
        cls.addClassCleanup(process.wait)
        cls.addClassCleanup(lambda: process.poll() is None
                            and os.killpg(process.pid, signal.SIGTERM))

    def ask(self, query):
        """The series that Prometheus answers: [(labels, value)]."""
        url = f"{self.prometheus}/api/v1/query?" + urllib.parse.urlencode({"query": query})
        answer = json.loads(get(url))
        self.assertEqual(answer["status"], "success", answer)
        return [(series["metric"], float(series["value"][1]))
                for series in answer["data"]["result"]]

    def by_rank(self, query):
        """{rank: value}"""
        return {labels["rank"]: value for labels, value in self.ask(query)}

    def until(self, query, holds, ask=None):
        """The first answer that `holds`."""
        ask = ask or self.by_rank
        deadline, answer = time.monotonic() + SECONDS, None
        while time.monotonic() < deadline:
            for process in self.processes:
                self.assertIsNone(process.poll(), f"{process.args} has ended")
            try:
                answer = ask(query)
                if holds(answer):
                    return answer
            except (urllib.error.URLError, ConnectionError, TimeoutError) as error:
                answer = error
            time.sleep(0.2)
        raise AssertionError(f"{query}: after {SECONDS} s still {answer}")

    def counted(self, metric):
        """Returns {rank: value} from the ranks themselves; series of a rank are added up."""
        return {str(rank): sum(float(line.split()[-1])
                               for line in get(f"http://127.0.0.1:{self.port + rank}/metrics").splitlines()
                               if line.startswith((metric + " ", metric + "{")))
                for rank in range(RANKS)}

    def test_it_finds_every_rank_and_counts_what_they_count(self):
        ranks = {str(rank) for rank in range(RANKS)}
        self.until('up{job="weir"}', lambda answer: answer == dict.fromkeys(ranks, 1.0))
        self.assertEqual(self.until("weir_rank_info", lambda answer: set(answer) == ranks),
                         dict.fromkeys(ranks, 1.0))
        self.assertEqual(self.by_rank("weir_world_size"), dict.fromkeys(ranks, float(RANKS)))
        for metric in ("weir_step_duration_seconds_count", "weir_bytes_sent_total",
                       "weir_payload_bytes_total", "weir_dense_equivalent_bytes_total"):
            # Counters only grow: scraped values lie between two reads of our own.
            before = self.counted(metric)
            scraped = self.until(f"sum by (rank) ({metric})",
                                 lambda answer: set(answer) == ranks
                                 and all(answer[rank] >= before[rank] for rank in ranks))
            after = self.counted(metric)
            for rank in ranks:
                self.assertLess(0, before[rank], metric)
                self.assertLessEqual(scraped[rank], after[rank], metric)

    def test_every_query_of_the_grafana_dashboard_has_an_answer(self):
        dashboard = json.loads((ROOT / "metrics" / "grafana" / "weir.json").read_text())
        panels = [panel for panel in dashboard["panels"] if panel["type"] != "row"]
        self.assertGreater(len(panels), 10)
        for panel in panels:
            self.assertTrue(panel["title"] and panel["description"])
            for target in panel["targets"]:
                query = target["expr"].replace("$__rate_interval", "1m")
                named = re.findall(r"{{(\w+)}}", target["legendFormat"])
                for labels, value in self.until(query, lambda answer: answer, self.ask):
                    self.assertFalse(math.isinf(value), f"{query}: {labels}")
                    self.assertLessEqual(set(named), set(labels), target)


if __name__ == "__main__":
    if shutil.which("prometheus") is None:
        print("skipped: there is no prometheus here")
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1])
