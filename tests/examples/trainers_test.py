"""The examples of trainers, with the libraries of PyPI, at 2 ranks: dense, by DGC, and by DGC with an
interruption, after which training goes on as if there had been none."""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import torch

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent.parent / "examples"
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
DGC = "compressor=dgc,density=0.05"


class Trainers(unittest.TestCase):
    def setUp(self):
        home = tempfile.TemporaryDirectory()
        self.addCleanup(home.cleanup)
        self.home = pathlib.Path(home.name)

    def run_it(self, *command):
        """Returns what it printed. The time limit only ends a hang."""
        done = subprocess.run(["timeout", "-k", "5", "200", *map(str, command)], cwd=self.home, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def check_losses(self, text, pattern, below):
        losses = [float(loss) for loss in re.findall(pattern, text)]
        self.assertGreater(len(losses), 1, text)
        self.assertLess(losses[-1], below * losses[0], text)

    def check_resumed(self, train, weights):
        """`train(folder, part, resume)` trains the first half (1) or all (2)."""
        train("straight", 2, False)
        train("stopped", 1, False)
        train("stopped", 2, True)
        straight, resumed = weights("straight"), weights("stopped")
        self.assertEqual(straight.keys(), resumed.keys())
        for name, one in straight.items():
            self.assertTrue(torch.equal(one, resumed[name]), name)

    def test_accelerate(self):
        program = EXAMPLES / "04-accelerate" / "train.py"
        self.check_losses(self.run_it(*TORCHRUN, program), r"loss ([\d.]+)", 0.5)

        def train(folder, part, resume):
            said = self.run_it(*TORCHRUN, program, "--compression", DGC, "--epochs", 2 * part, "--folder", folder,
                               *["--resume"] * resume)
            self.assertRegex(said, r"epoch 0: loss [\d.]+, density 0\.05, sent_MB 0\.0\d+"
                             if not resume else r"epoch 2: loss")
        from safetensors.torch import load_file
        self.check_resumed(train, lambda folder: load_file(self.home / folder / "model.safetensors"))

    def test_transformers(self):
        program = EXAMPLES / "05-transformers" / "train.py"
        self.check_losses(self.run_it(*TORCHRUN, program), r"'loss': '([\d.]+)'", 0.8)

        def train(folder, part, resume):
            said = self.run_it(*TORCHRUN, program, "--compression", DGC, "--steps", 20 * part, "--folder", folder,
                               *["--resume"] * resume)
            self.assertRegex(said, r"'density': '0\.05', 'sent_MB': '0\.0\d+'")
        from safetensors.torch import load_file
        self.check_resumed(train, lambda folder: load_file(
            self.home / folder / "checkpoint-40" / "model.safetensors"))

    def test_transformers_with_fewer_files_and_trained_twice(self):
        program = pathlib.Path(__file__).resolve().parent / "trainer_again.py"
        self.run_it(*TORCHRUN, program, "train")
        next(self.home.glob("job/checkpoint-4/weir-rank1.pt")).unlink()
        said = self.run_it(*TORCHRUN, program, "resume")
        self.assertIn("what rank 0 of 2 had not sent yet stands in for what rank 1 had", said)
        self.assertIn("same on all ranks after 6 and after 8 steps", said)

    def test_lightning(self):
        program = EXAMPLES / "06-lightning" / "train.py"
        self.run_it(sys.executable, program, "--folder", "dense")
        found = torch.load(self.home / "dense" / "last.ckpt", weights_only=False)
        self.assertTrue(all(one.isfinite().all() for one in found["state_dict"].values()))

        def train(folder, part, resume):
            self.run_it(sys.executable, program, "--strategy", "weir_dgc", "--epochs", 2 * part, "--folder", folder,
                        *["--resume"] * resume)
        self.check_resumed(train, lambda folder: torch.load(self.home / folder / "last.ckpt",
                                                            weights_only=False)["state_dict"])
        shown = next((self.home / "straight").glob("**/metrics.csv")).read_text()
        self.assertRegex(shown.splitlines()[0], "density.*sent_MB|sent_MB.*density")
        self.check_losses(shown, r"(?m)^[\d.]+,\d+,([\d.]+)," if shown.startswith("density,epoch,loss")
                          else r"(?!)", 0.9)


if __name__ == "__main__":
    unittest.main()
