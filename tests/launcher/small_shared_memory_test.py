"""A job in a /dev/shm that is too small for MPI. Arguments: weirrun, summing_rank. Skipped without root,
which mounting takes."""

import os
import subprocess
import sys
import unittest


def run(*options):
    return subprocess.run(
        ["unshare", "--mount", "sh", "-c",
         'mount -t tmpfs -o size=4m tmpfs /dev/shm && exec "$@"', "sh", WEIRRUN, "-np", "2", *options,
         SUMMING], text=True, capture_output=True, check=False, timeout=120)


class SmallSharedMemory(unittest.TestCase):
    def test_mpi_says_what_it_needs(self):
        done = run()
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("/dev/shm has 4 MiB", done.stdout + done.stderr)
        self.assertNotIn("Bus error", done.stdout + done.stderr)

    def test_ucx_needs_none(self):
        done = run("--transport", "ucx")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("rank 1 of 2", done.stdout)


if __name__ == "__main__":
    WEIRRUN, SUMMING = sys.argv[1:3]
    if os.geteuid() != 0:
        print("skipped: it takes root to mount another /dev/shm")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
