"""Two ranks, of which rank 1 exits after the first step. Arguments: what it gives sys.exit, as Python
writes it, and what rank 0 does then: "exchanges" or "computes", which never comes to the engine."""

import ast
import signal
import sys

import torch

import weir.torch as hvd

hvd.init()
hvd.allreduce(torch.ones(3), name="together")
if hvd.rank() == 1:
    sys.exit(ast.literal_eval(sys.argv[1]))
try:
    if sys.argv[2] == "computes":
        signal.pause()
    while True:
        hvd.allreduce(torch.ones(3), name="alone")
except hvd.HorovodInternalError as error:
    print("rank 0 learned:", error, flush=True)
    raise
