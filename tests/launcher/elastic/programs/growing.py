"""Trains until a file exists, in a job to which ranks come and from which they go.

    growing.py FILE
"""

import os
import sys

import torch

import weir.torch as hvd
from train import model_digest


def main():
    end = sys.argv[1]
    torch.set_num_threads(1)
    hvd.init()
    second = hvd.ProcessSet([1])
    if int(os.environ["HOROVOD_SIZE"]) > 1:
        hvd.add_process_set(second)
    torch.manual_seed(int(os.environ["HOROVOD_RANK"]))
    net = torch.nn.Sequential(torch.nn.Linear(12, 40), torch.nn.Tanh(), torch.nn.Linear(40, 4))
    optimizer = hvd.DistributedOptimizer(
        torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9), named_parameters=net.named_parameters(),
        compression=hvd.Compression.dgc(density=0.05, min_elements=100, warmup_steps=6))

    @hvd.elastic.run
    def train(state):
        print(f"enters as rank {hvd.rank()} of {hvd.size()}, second {second.ranks}, goes on {state.step > 0}",
              flush=True)
        while True:
            inputs = torch.randn(8, 12)
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(net(inputs), (inputs.sum(1) > 0).long()).backward()
            optimizer.step()
            state.step += 1
            # Without names: their numbers are to be the same on ranks that have come later.
            if hvd.allreduce(torch.tensor([float(os.path.exists(end))])).item() > 0:
                return
            if state.step % 5 == 0:
                state.commit()

    train(hvd.elastic.TorchState(net, optimizer, step=0))
    everyone = hvd.allgather_object(model_digest([net]))
    total = hvd.allreduce(torch.tensor([1.0]), op=hvd.Sum, process_set=second).item() if second.included() else 1
    print(f"done as rank {hvd.rank()} of {hvd.size()}, replicas equal: {len(set(everyone)) == 1}, "
          f"set of {total:.0f}", flush=True)


if __name__ == "__main__":
    main()
