"""Models that PyTorch has wrapped, and the exchange of their gradients: ``compress``.

It imports ``weir``, ``_compression``, ``_ops`` and ``_optimizer``.
"""
