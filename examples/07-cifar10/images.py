"""The images of CIFAR-10 (Krizhevsky 2009) from the files that people have."""

import codecs
import io
import pathlib
import pickle
import tarfile
import zipfile
from typing import Callable, Dict, NamedTuple

import numpy
import torch

CLASSES, SIDE = 10, 32
_PIXELS = 3 * SIDE * SIDE
_TRAIN = [f"data_batch_{i}" for i in range(1, 6)]
_TEST = ["test_batch"]


class Images(NamedTuple):
    pixels: torch.Tensor  # [n, 3, 32, 32], uint8.
    labels: torch.Tensor  # [n], int64.


class Cifar10(NamedTuple):
    train: Images
    test: Images


class NotCifar10(ValueError):
    """A file that is none of those that load() knows."""


class _OnlyArrays(pickle.Unpickler):
    """Reads the dictionaries of the Python version; a file that would call anything else is refused."""

    _KNOWN = {"_reconstruct": numpy.ndarray.__reduce__(numpy.empty(0))[0], "ndarray": numpy.ndarray,
              "dtype": numpy.dtype, "encode": codecs.encode}

    def find_class(self, module, name):
        if module.split(".")[0] not in ("numpy", "_codecs") or name not in self._KNOWN:
            raise NotCifar10(f"it would call {module}.{name}, which no file of CIFAR-10 does")
        return self._KNOWN[name]


def _of_pickle(data: bytes) -> Images:
    batch = _OnlyArrays(io.BytesIO(data), encoding="bytes").load()
    pixels = numpy.asarray(batch[b"data"], numpy.uint8).reshape(-1, 3, SIDE, SIDE)
    return _images(pixels, numpy.asarray(batch[b"labels"]))


def _of_binary(data: bytes) -> Images:
    rows = numpy.frombuffer(data, numpy.uint8).reshape(-1, 1 + _PIXELS)
    return _images(rows[:, 1:].reshape(-1, 3, SIDE, SIDE), rows[:, 0])


def _of_jpegs(data: numpy.ndarray, offsets: numpy.ndarray, labels: numpy.ndarray) -> Images:
    from PIL import Image

    whole = data.tobytes()
    pixels = numpy.empty((len(labels), 3, SIDE, SIDE), numpy.uint8)
    for i, (begin, end) in enumerate(zip(offsets, offsets[1:])):
        image = numpy.asarray(Image.open(io.BytesIO(whole[begin:end])).convert("RGB"))
        pixels[i] = image.transpose(2, 0, 1)
    return _images(pixels, labels)


def _images(pixels: numpy.ndarray, labels: numpy.ndarray) -> Images:
    return Images(torch.tensor(pixels), torch.tensor(labels.astype(numpy.int64)))


def _joined(parts) -> Images:
    return Images(*(torch.cat(of_all) for of_all in zip(*parts)))


def _of_batches(files: Dict[str, Callable[[], bytes]], where: pathlib.Path) -> Cifar10:
    """`files`: by name, what reads one."""
    for suffix, read in (("", _of_pickle), (".bin", _of_binary)):
        if all(name + suffix in files for name in _TRAIN + _TEST):
            return Cifar10(*(_joined([read(files[name + suffix]()) for name in names])
                             for names in (_TRAIN, _TEST)))
    raise NotCifar10(f"{where} lacks data_batch_1 to 5 and test_batch (with .bin or without)")


def _of_archive(path: pathlib.Path) -> Cifar10:
    with tarfile.open(path) as archive:
        files = {pathlib.PurePath(member.name).name: lambda member=member: archive.extractfile(member).read()
                 for member in archive.getmembers() if member.isfile()}
        return _of_batches(files, path)


def _of_npz(path: pathlib.Path) -> Cifar10:
    with numpy.load(path) as arrays:
        return Cifar10(*(_of_jpegs(*(arrays[f"{part}_{name}"] for name in ("jpeg", "offset", "label")))
                         for part in ("train", "test")))


def load(path) -> Cifar10:
    """Reads CIFAR-10 from `path`: cifar-10-python.tar.gz or cifar-10-binary.tar.gz as they are downloaded, the
    folder that either unpacks to, or an .npz of JPEGs (train_jpeg: the bytes of all; train_offset: where each
    begins, and the end; train_label; and the same for test).

    Raises NotCifar10, a ValueError, for anything else, and OSError where it cannot be read.
    """
    path = pathlib.Path(path)
    try:
        if path.is_dir():
            return _of_batches({file.name: file.read_bytes for file in path.iterdir() if file.is_file()}, path)
        return _of_npz(path) if path.suffix == ".npz" else _of_archive(path)
    except (LookupError, TypeError, ValueError, EOFError, pickle.UnpicklingError, tarfile.TarError,
            zipfile.BadZipFile) as error:
        why = (str(error) or type(error).__name__).splitlines()[0]
        raise NotCifar10(f"{path} is not CIFAR-10 ({why}): give cifar-10-python.tar.gz, cifar-10-binary.tar.gz, or the "
                         "folder that one of them unpacks to") from error
