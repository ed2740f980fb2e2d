"""Exchanges something and checks which MPI library has carried it.

Run by .ci/run: weirrun -np 2 python mpi_library.py LIBRARY
"""

import os
import sys

import torch

import weir.torch as hvd

hvd.init()
values = hvd.allreduce(torch.full((1 << 20,), float(hvd.rank() + 1)), op=hvd.Sum)
expected = float(sum(range(1, hvd.size() + 1)))
assert torch.equal(values, torch.full((1 << 20,), expected)), values
with open("/proc/self/maps", encoding="utf-8") as maps:
    loaded = {line.split()[-1] for line in maps if "libmpi" in line}
assert loaded == {os.path.realpath(sys.argv[1])}, (loaded, sys.argv[1])
print(f"rank {hvd.rank()} of {hvd.size()}: carried by {loaded.pop()}")
