"""The operations on tensors, one module each, and what they share: handles, names, reductions.

It imports ``weir`` and ``_compression``, and never ``_optimizer``.
"""
