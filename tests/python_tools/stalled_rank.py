"""A rank of a job in which rank N never submits what the others wait for. Argument: N."""

import signal
import sys

import torch

import weir.torch as hvd

hvd.init()
hvd.allreduce(torch.ones(1), name="early")
if hvd.rank() == int(sys.argv[1]):
    signal.pause()  # Until the job is ended.
hvd.allreduce(torch.ones(1), name="late")
