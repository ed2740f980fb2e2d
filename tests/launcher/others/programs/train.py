"""What a rank does in a job of another launcher than weirrun. Arguments: what befalls, and which rank.

Prints a line "RANK <rank>: <what>" for each thing that the tests look for.
"""

import os
import signal
import sys

import torch

import weir.torch as hvd
from weir.errors import HorovodInternalError

STEPS = 5


def say(text):
    # One write a line: the ranks share a pipe.
    rank = os.environ.get("RANK") or os.environ["SLURM_PROCID"]
    os.write(1, f"RANK {rank}: {text}\n".encode())


def step(model, optimizer):
    optimizer.zero_grad()
    torch.manual_seed(hvd.rank())
    loss = model(torch.randn(4, 8)).square().mean()
    loss.backward()
    optimizer.step()


def train():
    torch.manual_seed(hvd.rank())
    model = torch.nn.Linear(8, 2)
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), 0.1),
                                         named_parameters=model.named_parameters())
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    for _ in range(STEPS):
        step(model, optimizer)
    values = hvd.allgather(torch.cat([p.detach().flatten() for p in model.parameters()])[None])
    return bool((values == values[0]).all())


def main(what, victim):
    hvd.init()
    say(f"of {hvd.size()}, local {hvd.local_rank()} of {hvd.local_size()}, cross {hvd.cross_rank()} "
        f"of {hvd.cross_size()}, replicas {'equal' if train() else 'differ'}")
    if what == "killed" and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
        if hvd.rank() == int(victim):
            os.kill(os.getpid(), signal.SIGKILL)
        hvd.allreduce(torch.ones(1), name="after")
    if what == "again":
        hvd.shutdown()
        hvd.init()
        say(f"again of {hvd.size()}, replicas {'equal' if train() else 'differ'}")
    hvd.shutdown()
    say("done")


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # Says what it was told before the launcher ends it.
    try:
        main(*sys.argv[1:3])
    except HorovodInternalError as error:
        say(f"{type(error).__name__}: {error}")
        sys.exit(1)
