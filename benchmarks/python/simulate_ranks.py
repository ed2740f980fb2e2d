"""A rank of the benchmark simulate: COMPRESSION SECONDS; rank 0 prints the seconds of each step as JSON."""

import json
import sys
import time
import warnings

import gradient_sets

COMPRESSIONS = {"dense": "compressor=dense", "fp16": "compressor=fp16",
                "onebit": "compressor=onebit,ef=vanilla", "dgc": "compressor=dgc,density=0.01"}
LAYERS = 40  # Of ResNet-50, the first ones: 1.1 million parameters.
BACKPROP = 0.1
WARMUP, LEAST, MOST = 2, 2, 12


def main():
    import torch

    import weir.torch as hvd
    from replay import Gradients, Replay

    compression, budget = sys.argv[1], float(sys.argv[2])
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")  # What is taken over from the optimizer.
    hvd.init()
    store = Gradients(gradient_sets.SETS["resnet50"]()[:LAYERS], hvd.rank())
    model = Replay(store)
    model.backprop = BACKPROP
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9),
                                         model.named_parameters(), compression)
    times = []
    while len(times) < WARMUP + LEAST or (len(times) < WARMUP + MOST and sum(times) < budget):
        optimizer.zero_grad()
        store.refresh()
        chain = torch.zeros((), requires_grad=True)
        hvd.barrier()
        begin = time.perf_counter()
        loss = model(chain)
        model.start_backprop()
        loss.backward()
        optimizer.step()
        mine = torch.tensor(time.perf_counter() - begin, dtype=torch.float64)
        times.append(hvd.allreduce(mine, op=hvd.Max, name="seconds").item())
    if hvd.rank() == 0:
        print(json.dumps(times[WARMUP:]))


if __name__ == "__main__":
    main()
