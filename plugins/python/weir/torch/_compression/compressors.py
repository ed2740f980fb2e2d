"""Compressors of single tensors: the casts, and the base of a program's own compressors."""

from typing import Any, Mapping, Optional, Tuple

import torch


_ABSTRACT = ("weir.torch.Compressor compresses nothing: derive a class from it that has compress and "
             "decompress, or give Compression.none")


class Compressor:
    """Makes a tensor smaller before it is combined with those of other ranks, and restores it
    afterwards. Programs derive their own from it, for ``compression=``: the compressed tensor is
    summed, and has the same shape and type on all ranks."""

    @staticmethod
    def compress(tensor: torch.Tensor) -> Tuple[torch.Tensor, Any]:
        """Returns the compressed tensor, and a context for ``decompress``."""
        raise NotImplementedError(_ABSTRACT)

    @staticmethod
    def decompress(tensor: torch.Tensor, ctx: Any) -> torch.Tensor:
        """Returns the result in the tensor's original shape and type."""
        raise NotImplementedError(_ABSTRACT)


class CastCompressor(Compressor):
    """Casts floating-point tensors before they are sent and back afterwards."""

    dtype: Optional[torch.dtype] = None
    compressor: Optional[str] = None

    @classmethod
    def compress(cls, tensor: torch.Tensor) -> Tuple[torch.Tensor, Optional[torch.dtype]]:
        """Returns the compressed tensor, and a context for ``decompress``."""
        if cls.dtype is None or not tensor.dtype.is_floating_point:
            return tensor, None
        return tensor.to(cls.dtype), tensor.dtype

    @classmethod
    def decompress(cls, tensor: torch.Tensor, context: Optional[torch.dtype]) -> torch.Tensor:
        """Returns the result in the tensor's original type."""
        return tensor if context is None else tensor.to(context)


class NoneCompressor(CastCompressor):
    """Changes nothing."""


class FP16Compressor(CastCompressor):
    """Sends floating-point tensors as float16."""

    dtype, compressor = torch.float16, "fp16"


class BF16Compressor(CastCompressor):
    """Sends floating-point tensors as bfloat16."""

    dtype, compressor = torch.bfloat16, "bf16"


CASTS = (NoneCompressor, FP16Compressor, BF16Compressor)


def is_compressor(compression: Any) -> bool:
    """True if it compresses and decompresses single tensors, here or in a program."""
    return hasattr(compression, "compress") and hasattr(compression, "decompress")


def own_of(compression: Any) -> Any:
    """Returns a program's own compressor: a class or an object, also if it is derived from one of these
    here. None for anything else."""
    if any(compression is cast for cast in CASTS) or not is_compressor(compression):
        return None
    return compression


def single_of(compression: Any) -> Any:
    """Returns the compressor of a single tensor: a cast of this module, or a program's own with
    ``compress`` and ``decompress``. Raises TypeError for anything else."""
    if is_compressor(compression):
        return compression
    hint = ("topk, powersgd and dgc are for DistributedOptimizer" if isinstance(compression, Mapping)
            else f"got {compression!r:.60}")
    raise TypeError("compression of a single operation is Compression.none, .fp16, .bf16 or a "
                    "Compressor of your own; " + hint)
