"""Compression of tensors before they are sent: a program's choices, and the options they stand for.

It imports nothing else of ``weir.torch``.
"""
