"""hvd.allreduce against torch.distributed.all_reduce on gloo, on tensors of 1 KiB to 64 MiB."""

import statistics

import torch

import torch_job
import weir.torch as hvd
from report import Report, arguments, interleave, median_ratio

KIB = 1024
SIZES = [KIB, 16 * KIB, 256 * KIB, 1024 * KIB, 4096 * KIB, 16384 * KIB, 65536 * KIB]


def target_of(size):
    """Factor by which it must be faster than gloo."""
    return 5.0 if size <= 256 * KIB else 2.0 if size <= 4096 * KIB else 1.0


def main():
    options = arguments(__doc__).parse_args()
    torch_job.join("gloo")
    report = Report("torch-allreduce")
    for size in SIZES:
        tensor = torch.ones(size // 4)
        calls = max(4, min(50, 4096 * KIB // size))

        def weir():
            for _ in range(calls):
                hvd.allreduce(tensor, name="tensor", op=hvd.Sum)

        def yardstick():
            for _ in range(calls):
                torch.distributed.all_reduce(tensor.clone())

        interleave(2, [weir, yardstick], before=hvd.barrier)
        times, base = interleave(15, [weir, yardstick], before=hvd.barrier)
        # The slowest rank's time counts for all.
        both = hvd.allreduce(torch.tensor([times, base]), op=hvd.Max)
        times, base = both.tolist()
        factor = 1 / median_ratio(times, base)
        label = f"{size // KIB} KiB" if size < 1024 * KIB else f"{size // (1024 * KIB)} MiB"
        report.rows.append({"size": label,
                            "gloo, us": statistics.median(base) / calls * 1e6,
                            "weir, us": statistics.median(times) / calls * 1e6,
                            "times": factor})
        report.add_target(f"{label}, {hvd.size()} ranks: times faster than gloo", factor, ">=",
                          target_of(size))
    if hvd.rank() == 0:
        report.end(options)
    torch_job.leave()


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
