"""What makes tensors smaller on their way: a program's choices, and the options they stand for.

It imports nothing else of ``weir.torch``.
"""
