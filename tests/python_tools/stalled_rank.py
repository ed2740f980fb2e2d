"""A rank of a job in which rank N never submits what the others wait for. Arguments: N, and perhaps a rank
that joins, because it has no more data."""

import signal
import sys

import torch

import weir.torch as hvd

hvd.init()
hvd.allreduce(torch.ones(1), name="early")
if hvd.rank() == int(sys.argv[1]):
    signal.pause()  # Until the job is ended.
if [str(hvd.rank())] == sys.argv[2:]:
    hvd.join()
hvd.allreduce(torch.ones(1), name="late")
