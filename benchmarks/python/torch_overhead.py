"""A step of DistributedOptimizer on many small parameters against DistributedDataParallel on gloo."""

import statistics

import torch

import torch_job
import weir.torch as hvd
from report import Report, arguments, interleave, median_ratio


class ManySmall(torch.nn.Module):
    """`count` vectors that all go into one loss: next to no arithmetic."""

    def __init__(self, count):
        super().__init__()
        self.parts = torch.nn.ParameterList(torch.nn.Parameter(torch.ones(64))
                                            for _ in range(count))

    def forward(self, factor):
        return torch.stack(list(self.parts)).sum() * factor


def step_of(model, optimizer):
    def step():
        optimizer.zero_grad()
        model(0.5).backward()
        optimizer.step()
    return step


def main():
    options = arguments(__doc__).parse_args()
    torch_job.join("gloo")
    report = Report("torch-overhead")
    for count in (200, 2000):
        ours, theirs = ManySmall(count), ManySmall(count)
        wrapped = torch.nn.parallel.DistributedDataParallel(theirs)
        alone = ManySmall(count)
        candidates = [
            step_of(ours, hvd.DistributedOptimizer(torch.optim.SGD(ours.parameters(), lr=0.1),
                                                   ours.named_parameters())),
            step_of(wrapped, torch.optim.SGD(theirs.parameters(), lr=0.1)),
            step_of(alone, torch.optim.SGD(alone.parameters(), lr=0.1))]
        interleave(5, candidates)
        times = interleave(41, candidates)
        ours_, theirs_, alone_ = hvd.allreduce(torch.tensor(times), op=hvd.Max).tolist()
        ratio = median_ratio(ours_, theirs_)
        report.rows.append({"parameters": count,
                            "alone, ms": statistics.median(alone_) * 1e3,
                            "DDP on gloo, ms": statistics.median(theirs_) * 1e3,
                            "weir, ms": statistics.median(ours_) * 1e3,
                            "weir / DDP": ratio})
        report.add_target(f"{count} parameters: step time / DDP's", ratio, "<=", 1.0)
    if hvd.rank() == 0:
        report.end(options)
    torch_job.leave()


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
