"""The time that compression on a GPU adds to a training step, at one rank: the part that backprop does
not hide."""

import statistics
import sys

import torch

import gpu_models
import weir.torch as hvd
from report import Report, arguments, interleave

STEPS = 5  # Timed together.


def wrap_alone(model, optimizer):
    return model, optimizer


def wrap_with(compression):
    def wrap(model, optimizer):
        return model, hvd.DistributedOptimizer(optimizer, model.named_parameters(), compression=compression)
    return wrap


def main():
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--models", nargs="+", choices=["resnet50", "transformer"], default=["resnet50", "transformer"])
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("overlap-gpu: not run: PyTorch sees no GPU", file=sys.stderr)
        sys.exit(77)
    hvd.init()
    report = Report("overlap-gpu")
    wraps = {"none": wrap_with(hvd.Compression.none),
             "dgc": wrap_with(hvd.Compression.dgc(density=0.001, policy="always"))}
    for name in options.models:
        candidates = [gpu_models.steps_of(gpu_models.training(name, wrap), STEPS)
                      for wrap in (wrap_alone, *wraps.values())]
        interleave(3, candidates)
        alone, *others = interleave(options.rounds, candidates)
        for compression, times in zip(wraps, others):
            exposed = statistics.median(1 - a / t for a, t in zip(alone, times))
            report.rows.append({"model": name, "compression": compression,
                                "alone, ms": statistics.median(alone) / STEPS * 1e3,
                                "step, ms": statistics.median(times) / STEPS * 1e3,
                                "exposed share": exposed})
            if compression == "dgc":
                report.add_target(f"{name}: share of the step that compression adds", exposed, "<=", 0.05)
        del candidates
        torch.cuda.empty_cache()
    report.end(options)


if __name__ == "__main__":
    main()
