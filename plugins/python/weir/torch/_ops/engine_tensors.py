"""The engine's view of a tensor: an address, a data type's number and a shape."""

import collections.abc
import functools
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Sequence, Tuple

import torch

if TYPE_CHECKING:
    from weir import _core

REDUCED = frozenset({torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float32,
                     torch.float64})
"""Types that an all-reduce or a reduce-scatter takes."""


@functools.lru_cache(maxsize=None)
def _numbers() -> Dict[torch.dtype, int]:
    from weir import _core

    return {getattr(torch, name): number for name, number in _core.DTYPES.items()}


def number_of(dtype: torch.dtype) -> int:
    """Returns the engine's number of a data type that it has."""
    return _numbers()[dtype]


def expect(tensor: Any) -> None:
    """Raises TypeError for anything but a tensor."""
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"expected a torch.Tensor, got {tensor!r:.60} of type "
                        f"{type(tensor).__name__}; torch.tensor(...) makes one")


def listed(tensors: Any) -> Tuple[torch.Tensor, ...]:
    """Returns the tensors of a list or an iterable. Raises TypeError for anything else."""
    if isinstance(tensors, torch.Tensor) or not isinstance(tensors, collections.abc.Iterable):
        raise TypeError(f"expected a list of tensors, got one {type(tensors).__name__}")
    every = tuple(tensors)
    for tensor in every:
        expect(tensor)
    return every


ON_CPU = (-1, 0)

# The second is public, but makes an object of it first: a step asks thousands of times.
_stream_of: Callable[[int], int] = getattr(
    torch._C, "_cuda_getCurrentRawStream",
    lambda device: torch.cuda.current_stream(device).cuda_stream)


def place_of(tensor: torch.Tensor) -> Tuple[int, int]:
    """Returns the tensor's place: the number of its GPU, or -1, and the CUDA stream in which the
    program works on it now."""
    if not tensor.is_cuda:  # Others are refused when they are handed over.
        return ON_CPU
    device = tensor.get_device()
    return device, _stream_of(device)


Maker = Optional[Callable[[Sequence[int]], torch.Tensor]]


def maker_for(tensor: torch.Tensor) -> Maker:
    """Returns a function that makes a result on the tensor's GPU, in the order of the current stream,
    once its shape is known; None: the engine makes it, on the CPU. A thread of the engine calls it."""
    if place_of(tensor) == ON_CPU:
        return None
    dtype, device = tensor.dtype, tensor.device
    stream = torch.cuda.current_stream(device) if tensor.is_cuda else None
    gpu = tensor.get_device() if tensor.is_cuda else -1  # Without a GPU it changes nothing.

    def make(shape: Sequence[int]) -> torch.Tensor:
        # With the stream alone, this thread, and a context, would stay on the first GPU.
        with torch.cuda.device(gpu), torch.cuda.stream(stream):
            return torch.empty(shape, dtype=dtype, device=device)

    return make


def rows_of(tensors: Sequence[torch.Tensor]) -> Tuple[List[Tuple[int, int]], List[Maker]]:
    """Returns the places of a group's tensors, and the functions that make their results."""
    return [place_of(tensor) for tensor in tensors], [maker_for(tensor) for tensor in tensors]


def crossing(kind: str, tensors: Sequence[torch.Tensor], checked: Callable[[torch.Tensor], int]
             ) -> Tuple[List[int], List[int], List[torch.Size]]:
    """Returns addresses, numbers of the data types and shapes of a group. Raises ValueError for a group
    without tensors, and as ``checked`` does."""
    if not tensors:
        raise ValueError(f"a grouped {kind} needs at least one tensor")
    return ([tensor.data_ptr() for tensor in tensors], [checked(tensor) for tensor in tensors],
            [tensor.shape for tensor in tensors])


def check(tensor: torch.Tensor) -> int:
    """Returns the number of the tensor's data type. Raises ValueError for a tensor that the engine
    cannot take, TypeError for anything but a tensor."""
    expect(tensor)
    number = _numbers().get(tensor.dtype)
    if number is None:
        raise ValueError(
            f"Tensor type {tensor.type()} is not supported. Supported are "
            f"{', '.join(str(dtype) for dtype in _numbers())}.")
    if tensor.device.type not in ("cpu", "cuda"):
        raise ValueError(f"Weir exchanges tensors of CPUs and CUDA devices, and this one is on "
                         f"{tensor.device}: move it with .cpu()")
    if tensor.is_sparse:
        raise ValueError("A sparse tensor is exchanged with sparse_allreduce_async.")
    return number


def dense(tensor: torch.Tensor) -> torch.Tensor:
    """Returns the tensor, or a copy of it, whose entries lie in memory as the engine expects."""
    return tensor.detach().contiguous() if torch.is_tensor(tensor) else tensor


def all_dense(tensors: Sequence[torch.Tensor]) -> List[torch.Tensor]:
    """Does the same for a group."""
    return [dense(tensor) for tensor in tensors]


def fresh(tensor: torch.Tensor) -> torch.Tensor:
    """Returns memory for a result of the tensor's shape and type."""
    return torch.empty_like(tensor, memory_format=torch.contiguous_format)


def delivered(output: torch.Tensor, result: torch.Tensor) -> torch.Tensor:
    """Returns a tensor, to which the result is copied unless it lies there."""
    if result.data_ptr() != output.data_ptr():
        output.detach().copy_(result)
    return output


def check_reduced(tensor: torch.Tensor) -> int:
    """Does the same for a tensor to be summed."""
    expect(tensor)
    if tensor.dtype not in REDUCED:
        raise ValueError(
            f"Tensor type {tensor.type()} is not supported. Reduced are "
            f"{', '.join(sorted(str(dtype) for dtype in REDUCED))}.")
    return check(tensor)


def from_gathered(gathered: "_core.Gathered", given: torch.Tensor) -> torch.Tensor:
    """Returns the result, on the device and with the type of its input tensor."""
    made = gathered.tensor
    if isinstance(made, torch.Tensor):
        return made
    shape = gathered.shape
    data = torch.from_dlpack(gathered.bytes())
    if data.numel() == 0:
        return torch.empty(shape, dtype=given.dtype)
    return data.view(given.dtype).view(shape)


def all_from_gathered(gathered: "Sequence[_core.Gathered]",
                      given: Sequence[torch.Tensor]) -> Tuple[torch.Tensor, ...]:
    """Does the same for a group."""
    return tuple(from_gathered(*each) for each in zip(gathered, given))
