"""A training step on a GPU with DistributedOptimizer against DistributedDataParallel, both over NCCL.

Ranks that share a GPU need a NCCL_HOSTID of their own each; all of their figures are then those of sockets."""

import statistics
import sys

import torch

import gpu_models
import torch_job
import weir.torch as hvd
from report import Report, arguments, interleave, median_ratio

STEPS = 5  # Timed together.


def wrap_ours(model, optimizer):
    return model, hvd.DistributedOptimizer(optimizer, model.named_parameters())


def wrap_theirs(model, optimizer):
    return torch.nn.parallel.DistributedDataParallel(model), optimizer


def main():
    parser = arguments(__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--models", nargs="+", choices=["resnet50", "transformer"], default=["resnet50", "transformer"])
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("torch-ddp-gpu: not run: PyTorch sees no GPU", file=sys.stderr)
        sys.exit(77)
    torch.cuda.set_device(0)
    torch_job.join("nccl")
    report = Report("torch-ddp-gpu")
    for name in options.models:
        candidates = [gpu_models.steps_of(gpu_models.training(name, wrap), STEPS)
                      for wrap in (wrap_ours, wrap_theirs)]
        interleave(3, candidates)
        times = interleave(options.rounds, candidates, before=hvd.barrier)
        ours, theirs = hvd.allreduce(torch.tensor(times), op=hvd.Max).tolist()
        ratio = median_ratio(ours, theirs)
        report.rows.append({"model": name, "ranks": hvd.size(),
                            "DDP, ms": statistics.median(theirs) / STEPS * 1e3,
                            "weir, ms": statistics.median(ours) / STEPS * 1e3,
                            "weir / DDP": ratio})
        report.add_target(f"{name} on {hvd.size()}: step time / DDP's", ratio, "<=", 1.02)
        del candidates
        torch.cuda.empty_cache()
    if hvd.rank() == 0:
        report.end(options)
    torch_job.leave()


if __name__ == "__main__":
    main()
