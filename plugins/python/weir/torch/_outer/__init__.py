"""``Outer``: ranks take steps by themselves, and agree now and then.

It imports ``weir``, ``_compression``, ``_ops`` and ``_optimizer``.
"""
