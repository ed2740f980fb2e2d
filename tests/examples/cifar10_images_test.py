"""examples/07-cifar10/images.py reads the files that people have, and refuses others by name."""

import io
import pathlib
import pickle
import sys
import tarfile
import tempfile
import unittest

import numpy
from PIL import Image

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples" / "07-cifar10"))

import images  # noqa: E402

NAMES = [f"data_batch_{i}" for i in range(1, 6)] + ["test_batch"]
OF_A_BATCH = 3


def batches():
    """{name: (pixels [3, 3072], labels)} with random pixels; the seed is fixed."""
    random = numpy.random.default_rng(1)
    return {name: (random.integers(0, 256, (OF_A_BATCH, 3072), numpy.uint8), [i, (i + 1) % 10, (i + 2) % 10])
            for i, name in enumerate(NAMES)}


def as_pickle(pixels, labels):
    return pickle.dumps({b"data": pixels, b"labels": labels, b"batch_label": b"batch"}, protocol=2)


def as_binary(pixels, labels):
    return numpy.concatenate([numpy.array(labels, numpy.uint8)[:, None], pixels], axis=1).tobytes()


class Load(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def check(self, found):
        given = batches()
        self.assertEqual(found.train.pixels.shape, (5 * OF_A_BATCH, 3, 32, 32))
        numpy.testing.assert_array_equal(found.train.pixels[0].flatten(), given["data_batch_1"][0][0])
        numpy.testing.assert_array_equal(found.train.pixels[-1].flatten(), given["data_batch_5"][0][-1])
        self.assertEqual(found.train.labels.tolist(),
                         [label for name in NAMES[:5] for label in given[name][1]])
        numpy.testing.assert_array_equal(found.test.pixels.flatten(1), given["test_batch"][0])
        self.assertEqual(found.test.labels.tolist(), given["test_batch"][1])

    def test_folders_and_archives_of_both_versions(self):
        for suffix, write in (("", as_pickle), (".bin", as_binary)):
            with self.subTest(suffix or "python"):
                folder = self.folder / f"cifar{suffix}"
                folder.mkdir()
                for name, batch in batches().items():
                    (folder / (name + suffix)).write_bytes(write(*batch))
                self.check(images.load(folder))
                archive = self.folder / f"cifar{suffix}.tar.gz"
                with tarfile.open(archive, "w:gz") as file:
                    file.add(folder, "cifar-10")
                self.check(images.load(archive))

    def test_jpegs(self):
        arrays, colours = {}, {"train": (200, 30, 40), "test": (10, 220, 90)}
        for part, colour in colours.items():
            file = io.BytesIO()
            Image.new("RGB", (32, 32), colour).save(file, "JPEG", quality=95)
            jpeg = numpy.frombuffer(file.getvalue(), numpy.uint8)
            arrays.update({f"{part}_jpeg": numpy.tile(jpeg, 2),
                           f"{part}_offset": numpy.array([0, len(jpeg), 2 * len(jpeg)], numpy.uint32),
                           f"{part}_label": numpy.array([3, 7], numpy.uint8)})
        numpy.savez(self.folder / "cifar.npz", **arrays)
        found = images.load(self.folder / "cifar.npz")
        for part, colour in colours.items():
            read = getattr(found, part)
            self.assertEqual(read.labels.tolist(), [3, 7])
            numpy.testing.assert_allclose(read.pixels[1, :, 16, 16], colour, atol=3)

    def test_what_is_not_cifar10_is_refused_by_name(self):
        (self.folder / "text").write_text("no archive")
        (self.folder / "short").mkdir()
        (self.folder / "short" / "data_batch_1.bin").write_bytes(b"")
        numpy.savez(self.folder / "other.npz", a=numpy.zeros(3))
        for name, why in (("text", "could not be opened"), ("short", "lacks data_batch_1 to 5"),
                          ("other.npz", "train_jpeg")):
            with self.subTest(name), self.assertRaisesRegex(images.NotCifar10, f"{name} .*{why}.*give cifar-10-"):
                images.load(self.folder / name)

    def test_a_pickle_that_would_call_something_is_refused(self):
        class Call:
            def __reduce__(self):
                return print, ("called",)

        for name, batch in batches().items():
            (self.folder / name).write_bytes(as_pickle(*batch))
        (self.folder / "data_batch_2").write_bytes(pickle.dumps({b"data": Call()}, protocol=2))
        with self.assertRaisesRegex(images.NotCifar10, r"print"):
            images.load(self.folder)


if __name__ == "__main__":
    unittest.main()
