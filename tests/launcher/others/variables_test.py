"""Jobs whose processes begin with the variables of other launchers than weirrun, started here one by one.
Arguments: summing_rank, doomed_rank."""

import os
import socket
import subprocess
import sys
import tempfile
import unittest

RANKS = 3
SUMMING, DOOMED = sys.argv[1:3]
# An end of a hang only.
PATIENCE = 120


def torchrun(rank, ranks=RANKS, local=RANKS):
    return {"RANK": rank, "WORLD_SIZE": ranks, "LOCAL_RANK": rank % local, "LOCAL_WORLD_SIZE": local,
            "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": 29500 + os.getpid() % 1000}


def srun(rank, ranks=RANKS):
    return {"SLURM_PROCID": rank, "SLURM_STEP_NUM_TASKS": ranks, "SLURM_LOCALID": rank,
            "SLURM_STEP_TASKS_PER_NODE": ranks, "SLURM_STEP_NODELIST": "localhost",
            "SLURM_JOB_ID": os.getpid(), "SLURM_STEP_ID": 0}


def open_mpi(rank, ranks=RANKS):
    return {"OMPI_COMM_WORLD_RANK": rank, "OMPI_COMM_WORLD_SIZE": ranks,
            "OMPI_COMM_WORLD_LOCAL_RANK": rank, "OMPI_COMM_WORLD_LOCAL_SIZE": ranks,
            "PMIX_NAMESPACE": f"test-{os.getpid()}"}


class Variables(unittest.TestCase):
    def setUp(self):
        self.home = tempfile.TemporaryDirectory()
        self.addCleanup(self.home.cleanup)

    def start(self, command, variables, **settings):
        environment = {**os.environ, "HOME": self.home.name}
        environment.update({name: str(value) for name, value in {**variables, **settings}.items()})
        process = subprocess.Popen(command, env=environment, text=True, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT)
        self.addCleanup(process.kill)
        return process

    def end(self, processes):
        """What each process has printed, and their exit codes."""
        outputs = [process.communicate(timeout=PATIENCE)[0] for process in processes]
        return outputs, [process.returncode for process in processes]

    def test_each_launchers_processes_are_one_job(self):
        for launcher in (torchrun, srun, open_mpi):
            with self.subTest(launcher=launcher.__name__):
                outputs, codes = self.end(
                    [self.start([SUMMING], launcher(rank)) for rank in range(RANKS)])
                self.assertEqual(codes, [0] * RANKS, outputs)
                for rank, output in enumerate(outputs):
                    self.assertIn(f"rank {rank} of 3 is {rank} on ", output)
                    self.assertIn("sum 6", output)

    def test_one_process_is_a_job_of_one(self):
        for launcher in (torchrun, srun, open_mpi):
            with self.subTest(launcher=launcher.__name__):
                (output,), codes = self.end([self.start([SUMMING], launcher(0, ranks=1))])
                self.assertEqual(codes, [0], output)
                self.assertIn("rank 0 of 1", output)

    def test_the_death_of_any_rank_is_told_to_the_others(self):
        for victim in (0, 2):
            with self.subTest(victim=victim):
                outputs, codes = self.end(
                    [self.start([DOOMED, str(victim), "allreduce", "kill"], torchrun(rank))
                     for rank in range(RANKS)])
                for rank in set(range(RANKS)) - {victim}:
                    self.assertRegex(outputs[rank], rf"rank {victim}\b.* is lost: its process has ended",
                                     outputs)
                    self.assertNotEqual(codes[rank], 0)

    def test_who_ends_the_job_says_why(self):
        outputs, _ = self.end([self.start([DOOMED, "1", "dgc", "unwind"], torchrun(rank))
                               for rank in range(RANKS)])
        for rank in (0, 2):
            self.assertIn("rank 1", outputs[rank])

    def test_who_does_not_come_is_named(self):
        outputs, codes = self.end([self.start([SUMMING], torchrun(rank), WEIR_START_TIMEOUT=8)
                                   for rank in range(RANKS) if rank != 1])
        for output, code in zip(outputs, codes):
            self.assertNotEqual(code, 0)
            self.assertIn("rank 1 did not join the job (init() or Engine::Create) within the start "
                          "timeout of 8 s", output)
        (output,), codes = self.end([self.start([SUMMING], torchrun(1), WEIR_START_TIMEOUT=8)])
        self.assertNotEqual(codes, [0])
        self.assertIn("rank 0 was not reached at 127.0.0.1:", output)

    def test_a_rank_that_is_there_twice_is_refused(self):
        zero = self.start([SUMMING], torchrun(0), WEIR_START_TIMEOUT=8)
        outputs, codes = self.end([self.start([SUMMING], torchrun(1), WEIR_START_TIMEOUT=8)
                                   for _ in range(2)] + [zero])
        self.assertNotIn(0, codes)
        self.assertIn("two processes are rank 1 by their launcher", outputs[0] + outputs[1])

    def test_another_token_is_another_job(self):
        outputs, codes = self.end([
            self.start([SUMMING], torchrun(rank), WEIR_START_TIMEOUT=8, WEIR_TOKEN=f"token-{rank}")
            for rank in range(2)])
        self.assertNotIn(0, codes)
        self.assertIn("ranks 1-2 did not join the job", outputs[0])
        self.assertIn("does not take this job's token", outputs[1])
        self.assertNotIn("token-0", outputs[1])

    def test_hosts_that_are_told_are_taken(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            place = f"127.0.0.1:{taken.getsockname()[1]}"
            (output,), codes = self.end([self.start([SUMMING], torchrun(0), WEIR_RENDEZVOUS=place)])
            self.assertNotEqual(codes, [0])
            self.assertIn(f"cannot listen on {place}: Address already in use", output)
        outputs, codes = self.end([self.start([SUMMING], torchrun(rank), WEIR_RENDEZVOUS=place)
                                   for rank in range(RANKS)])
        self.assertEqual(codes, [0] * RANKS, outputs)
        for wrong in ("here", "host:", "host:0", ":1", "host:70000"):
            (output,), _ = self.end([self.start([SUMMING], torchrun(0), WEIR_RENDEZVOUS=wrong)])
            self.assertIn(f"WEIR_RENDEZVOUS={wrong} is not of the form host:port", output)

    def test_a_launcher_that_does_not_tell_where_rank_0_is_gets_advice(self):
        variables = {**open_mpi(0), "OMPI_COMM_WORLD_LOCAL_SIZE": 1}
        (output,), _ = self.end([self.start([SUMMING], variables)])
        self.assertIn("set WEIR_RENDEZVOUS=host:port", output)

    def test_a_network_that_cannot_be_is_said(self):
        outputs, codes = self.end([self.start([SUMMING], torchrun(rank), WEIR_TRANSPORT="mpi")
                                   for rank in range(RANKS)])
        self.assertNotIn(0, codes)
        for output in outputs:
            self.assertIn("torchrun started 3 ranks, and MPI finds 1", output)
        outputs, codes = self.end([
            self.start([SUMMING], torchrun(rank), WEIR_UCX_LIBRARY="/nowhere/libucp.so.0")
            for rank in range(RANKS)])
        self.assertNotIn(0, codes)
        for output in outputs:
            self.assertRegex(output, "UCX cannot be used: .*/nowhere/libucp.so.0")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
