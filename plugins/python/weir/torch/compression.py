"""Compressors under the name of Horovod's module."""

from weir.torch._compression.compression import Compression  # noqa: F401
from weir.torch._compression.compressors import (  # noqa: F401
    BF16Compressor, Compressor, FP16Compressor, NoneCompressor)
