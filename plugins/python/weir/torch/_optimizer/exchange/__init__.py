"""Exchange of gradients with the engine: fused, one by one, sparse, or through a program's own
compressor.

It imports ``weir``, ``_compression`` and ``_ops``, and nothing else of ``_optimizer``.
"""
