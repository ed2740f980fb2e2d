"""One step of Deep Gradient Compression on a GPU, written in plain PyTorch, as a comparison for
dgc-step-gpu. Beside it the copy of a tensor and torch.topk alone. Medians, in microseconds, by CUDA's
events.

    python3 dgc_step_torch.py [--elements N...] [--rounds R] [--json FILE]

Needs PyTorch and its GPU, and no more of Weir than this file. Exit code 77 without them.
"""

import argparse
import json
import statistics
import sys

MEBI = 1 << 20
DENSITY = 0.001


def microseconds(torch, act, rounds):
    """Median over rounds, after one that does not count."""
    times = []
    for _ in range(rounds + 1):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        act()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 1e3)
    return statistics.median(times[1:])


def measure(torch, elements, rounds):
    gradient = torch.randn(elements, device="cuda")
    momentum = torch.randn(elements, device="cuda")
    velocity = torch.randn(elements, device="cuda")
    copy = torch.empty_like(gradient)
    entries = max(1, round(DENSITY * elements))

    def step():
        momentum.mul_(0.9).add_(gradient)
        velocity.add_(momentum)
        indices = torch.topk(velocity.abs(), entries, sorted=False).indices
        values = velocity[indices].half()
        momentum[indices] = 0
        velocity[indices] = 0
        return values

    return {
        "elements": elements,
        "copy_us": microseconds(torch, lambda: copy.copy_(gradient), rounds),
        "topk_us": microseconds(torch, lambda: torch.topk(velocity.abs(), entries, sorted=False), rounds),
        "step_us": microseconds(torch, step, rounds),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--elements", type=int, nargs="+", default=[n * MEBI for n in (1, 16, 64, 256, 1024)])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", help="file for the figures")
    options = parser.parse_args()
    try:
        import torch
    except ImportError as error:
        print(f"dgc-step-torch: not run: {error}", file=sys.stderr)
        return 77
    if not torch.cuda.is_available():
        print("dgc-step-torch: not run: PyTorch sees no GPU", file=sys.stderr)
        return 77
    rows = [measure(torch, elements, options.rounds) for elements in options.elements]
    print(f"dgc-step-torch: PyTorch {torch.__version__}, {torch.cuda.get_device_name()}\n")
    print("  elements    copy_us    topk_us    step_us")
    for row in rows:
        print(f"{row['elements']:10} {row['copy_us']:10.1f} {row['topk_us']:10.1f} {row['step_us']:10.1f}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"name": "dgc-step-torch", "rows": rows}, file, indent=2)
    return 0


if __name__ == "__main__":
    sys.exit(main())
