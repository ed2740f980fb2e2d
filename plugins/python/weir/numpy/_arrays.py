"""The engine's view of an array: an address, a data type's number and a shape.

An array of CuPy is known by ``__cuda_array_interface__``; CuPy itself is imported for results on a GPU alone.
"""

import functools
from typing import TYPE_CHECKING, Any, Callable, Dict, Optional, Sequence, Tuple

import numpy

if TYPE_CHECKING:
    from weir import _core

_REDUCED = frozenset({"int32", "int64", "float16", "bfloat16", "float32", "float64"})


@functools.lru_cache(maxsize=None)
def _numbers() -> Dict[str, int]:
    from weir import _core

    return dict(_core.DTYPES)


def is_on_gpu(array: Any) -> bool:
    return hasattr(array, "__cuda_array_interface__")


def given(value: Any) -> Any:
    """Returns an array, and a number as one without dimensions. Raises TypeError for anything else."""
    if isinstance(value, numpy.ndarray) or is_on_gpu(value):
        return value
    if isinstance(value, (bool, int, float, numpy.generic)):
        return numpy.asarray(value)
    raise TypeError(f"expected an array of NumPy or CuPy, or a number, got {value!r:.60} of type "
                    f"{type(value).__name__}; numpy.asarray(...) makes an array")


def knows(array: Any) -> bool:
    """Returns whether the engine has the array's data type."""
    return array.dtype.name in _numbers() and array.dtype.isnative


def number_of(array: Any) -> int:
    """Returns the number of the array's data type. Raises ValueError for one that the engine does not have."""
    if not knows(array):
        raise ValueError(f"arrays of {array.dtype} are not supported. Supported are {', '.join(_numbers())}, in "
                         "this machine's byte order; array.astype(...) makes one")
    return _numbers()[array.dtype.name]


def number_of_reduced(array: Any) -> int:
    """Does the same for an array to be summed."""
    if array.dtype.name not in _REDUCED:
        raise ValueError(f"arrays of {array.dtype} cannot be combined. Combined are {', '.join(sorted(_REDUCED))}; "
                         "array.astype(...) makes one")
    return number_of(array)


def in_a_row(array: Any) -> Any:
    """Returns the array, or a copy of it, whose entries lie in memory as the engine expects."""
    if is_on_gpu(array):
        return array if array.flags.c_contiguous else array.copy(order="C")
    return numpy.asarray(array, order="C")


def fresh(array: Any, shape: Optional[Sequence[int]] = None) -> Any:
    """Returns memory for a result of the array's type, where the array lies."""
    if is_on_gpu(array):
        import cupy  # type: ignore[import-not-found]

        return cupy.empty(array.shape if shape is None else tuple(shape), array.dtype)
    return numpy.empty(array.shape if shape is None else tuple(shape), array.dtype)


def target(array: Any) -> Any:
    """Returns an array that a result is written to. Raises ValueError for one that cannot be written, TypeError
    for anything but an array."""
    if not isinstance(array, numpy.ndarray) and not is_on_gpu(array):
        raise TypeError(f"a result is written to an array, not to {type(array).__name__}")
    if isinstance(array, numpy.ndarray) and not array.flags.writeable:
        raise ValueError("the result cannot be written to an array that is read-only; array.copy() makes another")
    return array


def address_of(array: Any) -> int:
    if is_on_gpu(array):
        return int(array.data.ptr)
    return int(array.__array_interface__["data"][0])


def place_of(array: Any) -> Tuple[int, int]:
    """Returns the array's place: the number of its GPU, or -1, and the CUDA stream in which the program works."""
    if not is_on_gpu(array):
        return -1, 0
    import cupy

    return int(array.device.id), int(cupy.cuda.get_current_stream().ptr)


def maker_for(array: Any) -> Optional[Callable[[Sequence[int]], Any]]:
    """Returns a function that makes a result on the array's GPU, once its shape is known; None: the engine makes
    it, on the CPU. A thread of the engine calls it."""
    if not is_on_gpu(array):
        return None
    import cupy

    device, stream = array.device, cupy.cuda.get_current_stream()

    class Made:
        """An array with the address under the name by which the engine asks for it."""

        def __init__(self, made: Any) -> None:
            self.array = made

        def data_ptr(self) -> int:
            return int(self.array.data.ptr)

    def make(shape: Sequence[int]) -> Any:
        with device, stream:
            return Made(fresh(array, shape))

    return make


def from_gathered(gathered: "_core.Gathered", like: Any) -> Any:
    """Returns the result, where its input array lies and with its type."""
    if gathered.tensor is not None:
        return gathered.tensor.array  # type: ignore[attr-defined]
    return gathered.numpy().view(like.dtype).reshape(gathered.shape)


def delivered(output: Any, result: Any) -> Any:
    """Returns an array, to which the result is copied unless it lies there."""
    if result is not output and address_of(result) != address_of(output):
        output[...] = result
    return output
