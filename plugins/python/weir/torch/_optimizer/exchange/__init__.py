"""How gradients go to the engine and come back: fused, one by one, sparse, or through a program's
own compressor.

It imports ``weir``, ``_compression`` and ``_ops``, and nothing else of ``_optimizer``.
"""
