"""``DistributedOptimizer``: an optimizer's steps on gradients that all ranks share.

It imports ``weir``, ``_compression`` and ``_ops``. Its functions take the optimizer, whose attributes
``_weir_...`` are made by ``step.Distributed``.
"""
