"""Programs of which one rank exits early, with a code. Argument: weirrun."""

import os
import subprocess
import sys
import unittest

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "exiting.py")


def run(transport, *arguments):
    return subprocess.run(
        [WEIRRUN, "-np", "2", "--transport", transport, "--grace-seconds", "5", sys.executable, PROGRAM,
         *arguments], text=True, capture_output=True, check=False, timeout=120)


class ExitCodes(unittest.TestCase):
    def test_a_code_ends_the_others_calls(self):
        for transport in ("mpi", "ucx"):
            with self.subTest(transport=transport):
                done = run(transport, "3", "exchanges")
                self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
                self.assertRegex(done.stdout, r"rank 0 learned: .*rank 1.*exit code 3")
                self.assertRegex(done.stderr, "weirrun: rank 1 on localhost ended the job: .* exit code 3; .*exit code 3")

    def test_a_code_ends_a_rank_that_computes_on(self):
        for transport in ("mpi", "ucx"):
            with self.subTest(transport=transport):
                done = run(transport, "3", "computes")
                self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
                self.assertRegex(done.stderr, "weirrun: rank 1 on localhost ended the job: .* exit code 3; .*exit code 3")

    def test_a_text_is_code_1(self):
        done = run("ucx", "'no data in this folder'", "exchanges")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("no data in this folder", done.stderr)
        self.assertRegex(done.stdout, r"rank 0 learned: .*rank 1.*exit code 1")

    def test_code_0_is_in_good_order(self):
        done = run("ucx", "0", "exchanges")
        self.assertRegex(done.stdout, r"rank 0 learned: .*rank 1 called Shutdown or destroyed its engine")


if __name__ == "__main__":
    WEIRRUN = sys.argv[1]
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
