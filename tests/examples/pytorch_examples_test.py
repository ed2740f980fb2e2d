"""The examples in PyTorch (the transformer shorter than in its README) and NumPy: they must learn, dense and
compressed.

usage: pytorch_examples_test.py LAUNCHER...   (what starts a job: weirrun -np)
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import numpy

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
LAUNCHER = []


def last_line(example, *arguments):
    done = subprocess.run([*LAUNCHER, "2", sys.executable, EXAMPLES / example / "train.py",
                           *arguments], capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        raise AssertionError(f"{example} failed with {done.returncode}:\n{done.stderr[-4000:]}")
    return done.stdout.splitlines()[-1]


def sent_and_dense(line):
    return [int(number.replace(",", "")) for number in
            re.search(r"sent ([\d,]+) of ([\d,]+) bytes", line).groups()]


class Digits(unittest.TestCase):
    def accuracy(self, compression):
        line = last_line("02-digits", "--compression", compression)
        sent, dense = sent_and_dense(line)
        if compression == "dgc":
            self.assertLess(sent, 0.02 * dense)
        return float(re.search(r"accuracy ([\d.]+)", line).group(1))

    def test_dense(self):
        self.assertGreater(self.accuracy("none"), 0.95)

    def test_dgc(self):
        self.assertGreater(self.accuracy("dgc"), 0.95)


class OwnLoop(unittest.TestCase):
    EXAMPLE, BAR = "09-numpy", 0.9

    def accuracy(self, compression):
        line = last_line(self.EXAMPLE, "--compression", compression)
        accuracy, sent = map(float, re.search(r"accuracy ([\d.]+), sent ([\d.]+) of", line).groups())
        if compression == "dgc":
            self.assertLess(sent, 0.1)
        return accuracy

    def test_dense(self):
        self.assertGreater(self.accuracy("none"), self.BAR)

    def test_dgc(self):
        self.assertGreater(self.accuracy("dgc"), self.BAR)


class Jax(OwnLoop):
    EXAMPLE, BAR = "10-jax", 0.88


class CharTransformer(unittest.TestCase):
    def loss(self, compression):
        line = last_line("03-char-transformer", "--steps", "80", "--compression", compression)
        sent, dense = sent_and_dense(line)
        if compression == "dgc":
            self.assertLess(sent, 0.03 * dense)
        return float(re.search(r"([\d.]+) nats", line).group(1))

    def test_dense(self):
        self.assertLess(self.loss("none"), 3.1)  # It begins at ln 128 = 4.85.

    def test_dgc(self):
        self.assertLess(self.loss("dgc"), 3.2)


class Cifar10(unittest.TestCase):
    def accuracy(self, compression):
        """Of images in ten colours."""
        with tempfile.TemporaryDirectory() as folder:
            random = numpy.random.default_rng(1)
            colours = random.integers(0, 200, (10, 3))
            for i in range(6):
                labels = numpy.arange(128) % 10
                pixels = colours[labels].repeat(32 * 32, axis=1) + random.integers(0, 50, (128, 3072))
                rows = numpy.concatenate([labels[:, None], pixels], axis=1).astype(numpy.uint8)
                name = f"data_batch_{i + 1}.bin" if i < 5 else "test_batch.bin"
                pathlib.Path(folder, name).write_bytes(rows.tobytes())
            line = last_line("07-cifar10", "--data", folder, "--depth", "8", "--width", "4", "--epochs", "4",
                             "--warmup-epochs", "1", "--compression", compression)
        return float(re.search(r"epoch 4: .* accuracy ([\d.]+) %", line).group(1))

    def test_dense(self):
        self.assertGreater(self.accuracy("none"), 60)

    def test_dgc(self):
        self.assertGreater(self.accuracy("compressor=dgc,density=0.01"), 60)


if __name__ == "__main__":
    LAUNCHER = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
