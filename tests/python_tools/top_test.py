"""weir-top on a real job, and without one. Arguments: weirrun, byte-lm."""

import os
import re
import socket
import subprocess
import sys
import threading
import unittest
import unittest.mock

from job import Job
from weir import _following, top
from weir._following import Endpoint, Rank, ranks_of

RANKS = 3


def run(*arguments, **environment):
    return subprocess.run([sys.executable, "-m", "weir.top", *arguments], text=True, timeout=600,
                          capture_output=True, check=False, env={**os.environ, **environment})


class Top(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        job = Job(cls, RANKS, token="secret")
        cls.url = job.url
        cls.ranks = job.until(lambda: ranks_of(cls.url, "secret"))
        job.until(cls.all_have_stepped)

    @classmethod
    def all_have_stepped(cls):
        for rank in cls.ranks:
            rank.look()
        return all(len(rank.steps) > 3 and rank.gradients for rank in cls.ranks)

    def test_it_finds_every_rank_and_shows_its_newest_step(self):
        self.assertEqual([rank.rank for rank in self.ranks], list(range(RANKS)))
        text = top.page(self.ranks, layers=3)
        newest = max(int(rank.steps[-1]["step"]) for rank in self.ranks)
        self.assertIn(f"step {newest}, ", text)
        for rank in self.ranks:
            row = re.search(rf"^{rank.rank} .*live$", text, re.MULTILINE).group()
            self.assertIn(f" {rank.steps[-1]['step']} ", row)

    def test_layers_are_those_of_the_job_by_latency(self):
        names = {rank.names[number]["name"] for rank in self.ranks for number in rank.gradients}
        every = top.page(self.ranks, layers=1000)
        for name in names:
            self.assertIn(name, every)
        shown = top.page(self.ranks, layers=2).rstrip().split("\n")[-2:]
        longest = max(row["end_ns"] - row["start_ns"]
                      for rank in self.ranks for row in rank.gradients.values())
        self.assertIn(f" {top.seconds(longest / 1e9)} ", shown[0])

    def test_the_command_prints_it_once(self):
        done = run("--once", self.url, WEIR_METRICS_TOKEN="secret")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"(?m)^step \d+, .* a step, exposed communication .* %")
        self.assertEqual(len(re.findall("live$", done.stdout, re.MULTILINE)), RANKS)

    def test_a_rank_alone_is_followed_alone(self):
        host, port = self.url.rpartition(":")[::2]
        done = run("--once", f"{host}:{int(port) + 1}", WEIR_METRICS_TOKEN="secret")
        self.assertEqual(re.findall(r"(?m)^(\d+) .*live$", done.stdout), ["1"], done)

    def test_what_is_wrong_is_said(self):
        for arguments, expected in ((["--once", self.url], "set WEIR_METRICS_TOKEN"),
                                    (["--once", "http://127.0.0.1:1"], "Connection refused; is the job"),
                                    (["--once", "ftp://x"], "'ftp://x' is not an address"),
                                    (["--once", "../b.weirlog"], "'../b.weirlog' is not an address"),
                                    (["--once", "http://localhost:99999"], "'http://localhost:99999' is no")):
            done = run(*arguments)
            self.assertEqual(done.returncode, 1, done)
            self.assertIn(expected, done.stderr)
            self.assertNotIn("Traceback", done.stderr)
        self.assertIn("--every 0.0: give a time above 0", run("--every", "0", self.url).stderr)


class Scripted(Rank):
    """A rank with a given job id."""

    def __init__(self, rank, job):
        super().__init__(Endpoint("http://127.0.0.1:1"), rank)
        self.says = job

    def look(self):
        self.run = {"job": self.says, "host": "h"}


class TheNextJob(unittest.TestCase):
    def test_its_ranks_are_followed(self):
        first, second = [Scripted(rank, "a1") for rank in range(3)], [Scripted(rank, "b2") for rank in range(2)]
        with unittest.mock.patch("weir._following.ranks_of", side_effect=[first, OSError("not yet"), second]):
            followed = _following.Job("http://127.0.0.1:1")
            for _ in range(2):
                followed.look()
                self.assertIs(followed.ranks, first)
            first[0].says = "b2"
            followed.look()
            self.assertIs(followed.ranks, first, "rank 0 could not say who the others are")
            followed.look()
            self.assertIs(followed.ranks, second)
            self.assertEqual([rank.job for rank in followed.ranks], ["b2", "b2"])


class Stuck(unittest.TestCase):
    def test_it_is_said_that_no_step_has_ended_for_long(self):
        def page(seconds):
            rank = Scripted(0, "a1")
            rank.steps.append({"step": 3, "start_ns": 0, "end_ns": 1e8, "exposed_communication_ns": 0,
                               "exposed_compression_ns": 0, "payload_bytes": 1, "dense_bytes": 1})
            rank.states.append({"time_ns": 1e8 + seconds * 1e9, "sent_bytes": 0, "stalled_tensors": 0})
            return top.page([rank], 0)
        self.assertIn("no step has ended for 24 s", page(24))
        self.assertNotIn("no step", page(9))


class Lost(unittest.TestCase):
    def test_a_rank_whose_answer_is_cut_off_is_shown_as_lost(self):
        for answer in (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf", b"hello\r\n"):
            with socket.create_server(("127.0.0.1", 0)) as server:
                def answer_once():
                    connection = server.accept()[0]
                    connection.recv(4096)
                    connection.sendall(answer)
                    connection.close()
                thread = threading.Thread(target=answer_once)
                thread.start()
                rank = Rank(Endpoint(f"http://127.0.0.1:{server.getsockname()[1]}"), 7)
                rank.look()
                thread.join()
            self.assertRegex(top.page([rank], 1), r"(?m)^7 .*lost: its answer is not a whole")

    def test_a_rank_that_does_not_answer_is_shown_as_lost(self):
        rank = Rank(Endpoint("http://127.0.0.1:1"), 7)
        rank.look()
        self.assertIsNone(rank.end)
        self.assertRegex(top.page([rank], 1), r"(?m)^7 .*lost: Connection refused$")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
