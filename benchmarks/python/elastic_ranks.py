"""A rank of the benchmark elastic: commits every 10 steps, and writes when it has finished each one."""

import os
import pathlib
import sys
import time

import torch

import weir.torch as hvd

STEP_SECONDS = 0.02
COMMIT_EVERY = 10


def main():
    folder = pathlib.Path(sys.argv[1])
    torch.set_num_threads(1)
    hvd.init()
    model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 16))
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9),
                                         model.named_parameters(),
                                         compression=hvd.Compression.topk(0.05, min_elements=1000))
    log = open(folder / f"{os.getpid()}.steps", "a", buffering=1)

    @hvd.elastic.run
    def train(state):
        while not state.over:
            optimizer.zero_grad()
            model(torch.randn(8, 256)).square().mean().backward()
            time.sleep(STEP_SECONDS)
            optimizer.step()
            state.step += 1
            log.write(f"{time.time():.6f} {state.step} {hvd.size()}\n")
            if state.step % COMMIT_EVERY == 0:
                over = hvd.allreduce(torch.tensor([(folder / "end").exists()], dtype=torch.int32), op=hvd.Max)
                state.over = bool(over.item())
                state.commit()

    train(hvd.elastic.TorchState(model, optimizer, step=0, over=False))


if __name__ == "__main__":
    main()
