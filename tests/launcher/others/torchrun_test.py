"""Jobs that the real torchrun starts: two agents, as on two hosts, of two ranks each. What does not take
torchrun itself is in variables_test.py."""

import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import unittest

PROGRAM = pathlib.Path(__file__).parent / "programs" / "train.py"
RANKS = 4


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


class Torchrun(unittest.TestCase):
    def setUp(self):
        self.home = tempfile.TemporaryDirectory()
        self.addCleanup(self.home.cleanup)

    def run_job(self, *arguments, options=(), **environment):
        """Runs the program under two agents; what each rank said, and the agents' exit codes."""
        port = free_port()
        # An end of a hang only: each agent and each rank imports PyTorch, on a machine that may be busy.
        command = ["timeout", "-k", "5", "240", sys.executable, "-m", "torch.distributed.run",
                   "--nproc-per-node=2", "--nnodes=2", "--master-addr=127.0.0.1",
                   f"--master-port={port}", *options]
        agents = [subprocess.Popen(
            [*command, f"--node-rank={node}", str(PROGRAM), *arguments], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env={**os.environ, "HOME": self.home.name, "OMP_NUM_THREADS": "1", **environment})
            for node in range(2)]
        outputs = [agent.communicate()[0] for agent in agents]
        self.output = "\n".join(outputs)
        said = {rank: re.findall(rf"^RANK {rank}: (.*)$", self.output, re.M) for rank in range(RANKS)}
        return said, [agent.returncode for agent in agents]

    def test_a_program_is_a_job_of_all_its_ranks_and_may_be_another_one_later(self):
        said, codes = self.run_job("again", "")
        self.assertEqual(codes, [0, 0], self.output)
        for rank in range(RANKS):
            self.assertEqual(said[rank], [
                f"of 4, local {rank % 2} of 2, cross {rank // 2} of 2, replicas equal",
                "again of 4, replicas equal", "done"], self.output)
        self.assertEqual(len(re.findall(r"^weir: \d+ steps: ", self.output, re.M)), 2, self.output)
        self.assertFalse(os.path.exists(os.path.join(self.home.name, ".weir")),
                         "the token came through torchrun's store")

    def test_processes_with_its_variables_alone_share_a_store_of_rank_0(self):
        port = free_port()
        processes = [subprocess.Popen(
            ["timeout", "-k", "5", "240", sys.executable, str(PROGRAM), "again", ""], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env={**os.environ, "HOME": self.home.name, "OMP_NUM_THREADS": "1", "RANK": str(rank),
                 "WORLD_SIZE": "2", "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": "2",
                 "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}) for rank in range(2)]
        for rank, process in enumerate(processes):
            output = process.communicate()[0]
            self.assertEqual(process.returncode, 0, output)
            self.assertIn(f"RANK {rank}: again of 2, replicas equal", output)
        self.assertFalse(os.path.exists(os.path.join(self.home.name, ".weir")))

    def test_a_killed_rank_is_named_and_torchrun_starts_all_again(self):
        said, codes = self.run_job("killed", "1", options=["--max-restarts=1"])
        self.assertEqual(codes, [0, 0], self.output)
        for rank in (0, 2, 3):
            self.assertRegex(said[rank][1], r"PeerLost: .*rank 1\b.* is lost", self.output)
        for rank in range(RANKS):
            self.assertEqual(said[rank][-2:], [
                f"of 4, local {rank % 2} of 2, cross {rank // 2} of 2, replicas equal", "done"],
                self.output)


if __name__ == "__main__":
    unittest.main()
