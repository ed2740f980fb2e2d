"""Jobs of a real Slurm of two nodes. Arguments: weirrun, summing_rank, doomed_rank. Skipped, with the
reason, where there is no Slurm or no root."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import slurm_cluster

RANKS = 4
TRAIN = pathlib.Path(__file__).parent / "programs" / "train.py"


class Slurm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.cluster = cls.enterClassContext(slurm_cluster.Cluster(folder.name))
        cls.home = os.path.join(folder.name, "home")
        os.mkdir(cls.home)

    def run_command(self, *command, input="", **environment):
        done = self.cluster.run(*command, input=input, HOME=self.home, OMP_NUM_THREADS="1", **environment)
        self.output = done.stdout + (self.cluster.logs() if done.returncode else "")
        return done

    def expect_sums(self, output):
        for rank in range(RANKS):
            self.assertRegex(output, rf"(?m)rank {rank} of 4 is {rank % 2} on .*, sum 10$", self.output)

    def test_srun_of_a_program(self):
        done = self.run_command("srun", "-N2", "-n4", "--ntasks-per-node=2", SUMMING)
        self.assertEqual(done.returncode, 0, self.output)
        self.expect_sums(done.stdout)

    def test_srun_of_a_python_program(self):
        done = self.run_command("srun", "-N2", "-n4", "--ntasks-per-node=2", sys.executable, str(TRAIN), "nothing", "")
        self.assertEqual(done.returncode, 0, self.output)
        for rank in range(RANKS):
            self.assertEqual(re.findall(rf"^RANK {rank}: (.*)$", done.stdout, re.M), [
                f"of 4, local {rank % 2} of 2, cross {rank // 2} of 2, replicas equal", "done"],
                self.output)

    def test_srun_of_a_rank_that_dies(self):
        done = self.run_command("srun", "-N2", "-n4", "--ntasks-per-node=2", "--wait=0", DOOMED, "2", "allreduce", "kill")
        self.assertNotEqual(done.returncode, 0)
        told = re.findall(r"rank 2 on \S+ is lost: its process has ended", done.stdout)
        self.assertGreaterEqual(len(told), RANKS - 1, self.output)

    def test_two_steps_at_once_are_two_jobs(self):
        script = f"srun --exact -N2 -n2 {SUMMING} & srun --exact -N2 -n2 {SUMMING} & wait"
        done = self.run_command("salloc", "-N2", "-n4", "--ntasks-per-node=2", "bash", "-c", script)
        self.assertEqual(len(re.findall(r"of 2 is 0 on .*, sum 3$", done.stdout, re.M)), 4, self.output)

    def test_weirrun_in_an_allocation(self):
        for network in "mpi", "ucx":
            with self.subTest(network):
                done = self.run_command("salloc", "-N2", "-n4", "--ntasks-per-node=2", WEIRRUN,
                                        "--transport", network, "sh", "-c", f"head -1; exec {SUMMING}",
                                        input="a line for rank 0\n")
                self.assertEqual(done.returncode, 0, self.output)
                self.expect_sums(done.stdout)
                self.assertEqual(re.findall(r"(?m)^(.*)a line for rank 0$", done.stdout), ["[0] "], self.output)

    def test_weirrun_in_a_batch_job(self):
        output = os.path.join(self.home, "batch.out")
        script = os.path.join(self.home, "job.sh")
        pathlib.Path(script).write_text(f"#!/bin/sh\n#SBATCH -N2 -n4 --ntasks-per-node=2\nexec {WEIRRUN} {SUMMING}\n")
        done = self.run_command("sbatch", "--wait", f"--output={output}", f"--chdir={self.home}", script)
        self.output += pathlib.Path(output).read_text()
        self.assertEqual(done.returncode, 0, self.output)
        self.expect_sums(pathlib.Path(output).read_text())

    def test_the_script_of_a_batch_job_is_a_job_of_one(self):
        output = os.path.join(self.home, "alone.out")
        done = self.run_command("sbatch", "--wait", "-N2", "-n4", "--ntasks-per-node=2", f"--output={output}",
                                f"--chdir={self.home}", f"--wrap={SUMMING}")
        text = pathlib.Path(output).read_text()
        self.assertEqual(done.returncode, 0, text)
        self.assertIn("rank 0 of 1", text)


def in_own_mounts():
    """Runs this test again where the names of the nodes are known, and nobody else sees that."""
    with tempfile.NamedTemporaryFile("w") as hosts:
        hosts.write(pathlib.Path("/etc/hosts").read_text() + "127.0.0.1 n1 n2\n")
        hosts.flush()
        return subprocess.run(["unshare", "--mount", "sh", "-c",
                               'mount --bind "$0" /etc/hosts && exec "$@"', hosts.name,
                               sys.executable, *sys.argv], check=False,
                              env={**os.environ, "WEIR_TEST_MOUNTS": "own"}).returncode


if __name__ == "__main__":
    WEIRRUN, SUMMING, DOOMED = sys.argv[1:4]
    if reason := slurm_cluster.missing():
        print(f"skipped: {reason}")
        sys.exit(77)
    if os.environ.get("WEIR_TEST_MOUNTS") != "own":
        sys.exit(in_own_mounts())
    unittest.main(argv=sys.argv[:1])
