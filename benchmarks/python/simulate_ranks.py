"""A rank of the benchmark simulate: COMPRESSION SECONDS; rank 0 prints the seconds of each step as JSON."""

import json
import sys
import warnings

import gradient_sets

COMPRESSIONS = {"dense": {"compressor": "dense"}, "fp16": {"compressor": "fp16"},
                "onebit": {"compressor": "onebit", "ef": "vanilla"},
                "dgc": {"compressor": "dgc", "density": 0.01}}
LAYERS = 40  # Of ResNet-50, the first ones: 1.1 million parameters.
BACKPROP = 0.1
WARMUP, LEAST, MOST = 2, 2, 12


def main():
    import torch

    import weir.torch as hvd
    from replay import Gradients
    from slow_network_columns import Column, weir
    from slow_network_ranks import Visit

    options, budget = COMPRESSIONS[sys.argv[1]], float(sys.argv[2])
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")  # What is taken over from the optimizer.
    hvd.init()
    store = Gradients(gradient_sets.SETS["resnet50"]()[:LAYERS], hvd.rank())
    visit = Visit(Column(weir(**options)), store)
    times = []
    while len(times) < WARMUP + LEAST or (len(times) < WARMUP + MOST and sum(times) < budget):
        times.append(visit.step(BACKPROP)[0])
    if hvd.rank() == 0:
        print(json.dumps(times[WARMUP:]))


if __name__ == "__main__":
    main()
