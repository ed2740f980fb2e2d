"""What the operations of every framework share: handles, names, reductions, and those without arrays.

It imports ``weir`` alone.
"""
