"""Compressors under the name of Horovod's module of them."""

from weir.torch._compression import (  # noqa: F401
    BF16Compressor, Compression, Compressor, FP16Compressor, NoneCompressor)
