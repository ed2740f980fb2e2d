"""The operations on tensors, one module each, and the engine's view of a tensor.

It imports ``weir``, ``weir._ops`` and ``_compression``, and never ``_optimizer``.
"""
