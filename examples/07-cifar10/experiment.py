#!/usr/bin/env python3
"""Does a ResNet on CIFAR-10 reach the same accuracy with Deep Gradient Compression?

The task of the paper (Lin et al., ICLR 2018, section 4.1): SGD with momentum, a step-wise learning rate, batch norm,
a warm-up of four epochs, one entry of a thousand sent. Every method trains at the same rates, from the same
parameters and with the same images in the same order for a seed. Each run is done once: its result is kept as one
JSON file under --out, so an interrupted experiment goes on where it stopped. Then writes cifar10.md (the tables, with
the paired difference between the methods), cifar10-accuracy.svg and cifar10-loss.svg to --report.

Run it as ./scripts/experiment cifar10 --data cifar-10-python.tar.gz
"""

import argparse
import pathlib
import shlex
import sys

EXAMPLE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(EXAMPLE.parent / "experiments"))

import experiment_report  # noqa: E402
from curves_svg import svg  # noqa: E402
from kept_runs import KeptRuns, add_arguments  # noqa: E402
from paired import MOST_SEEDS  # noqa: E402

# The first method is the one that the others are compared with.
METHODS = {
    "dense": "none",
    "dgc, the paper's form": "compressor=dgc,density=0.001,momentum_masking=true",
    "dgc, the default": "compressor=dgc,density=0.001",
}
WARMUP_EPOCHS = 4


def runs_of(options):
    """All runs, a seed's after each other: what is interrupted can be compared."""
    return [{"method": method, "compression": METHODS[method], "seed": seed, "ranks": options.ranks,
             "depth": options.depth, "width": options.width, "epochs": options.epochs, "images": options.images,
             "batch": 128 // options.ranks, "rate": 0.1, "warmup_epochs": WARMUP_EPOCHS}
            for seed in range(1, options.seeds + 1) for method in METHODS]


def name_of(run):
    words = run["method"].replace(",", "").replace("'", "").replace(" ", "-")
    return f"{words}-resnet{run['depth']}x{run['width']}-{run['epochs']}-seed{run['seed']}"


def command(run, options, result):
    given = {"data": options.data, "device": options.device, "json": result, "compression": run["compression"],
             "seed": run["seed"], "depth": run["depth"], "width": run["width"], "epochs": run["epochs"],
             "images": run["images"], "batch": run["batch"], "lr": run["rate"],
             "warmup-epochs": run["warmup_epochs"]}
    return [*shlex.split(options.launcher.format(ranks=run["ranks"])), *shlex.split(options.program),
            *(word for name, value in given.items() for word in (f"--{name}", str(value)))]


def parse_arguments(argv):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="the files of CIFAR-10, see images.py")
    parser.add_argument("--depth", type=int, default=8, help="layers of the ResNet (default %(default)s)")
    parser.add_argument("--width", type=int, default=16, help="channels of its first stage (default %(default)s)")
    parser.add_argument("--epochs", type=int, default=20, help="default %(default)s; the paper's are 164")
    parser.add_argument("--images", type=int, default=50000, help="train on the first ones only (default all)")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--ranks", type=int, default=4, help="they share batches of 128 images (default %(default)s)")
    parser.add_argument("--device", default="cpu", help="or cuda (default %(default)s)")
    add_arguments(parser, "cifar10")
    parser.add_argument("--program", default=f".venv/bin/python {EXAMPLE / 'train.py'}")
    options = parser.parse_args(argv)
    if 128 % options.ranks:
        parser.error(f"--ranks {options.ranks} cannot share batches of 128 images evenly")
    if not 1 <= options.seeds <= MOST_SEEDS:
        parser.error(f"--seeds {options.seeds}: give 1 to {MOST_SEEDS}")
    return options


def main(argv=None):
    options = parse_arguments(argv)
    options.report.mkdir(parents=True, exist_ok=True)
    runs = KeptRuns(options.out, name_of, lambda run, result: command(run, options, result),
                    lambda result: f"{result['accuracy']:.2f} %")
    findings = experiment_report.analyse(runs.all(runs_of(options)), list(METHODS))
    (options.report / "cifar10.md").write_text(experiment_report.markdown(findings))
    for name, column, label, falls in (("accuracy", 1, "accuracy on the test images, %", False),
                                       ("loss", 2, "training loss", True)):
        (options.report / f"cifar10-{name}.svg").write_text(
            svg(experiment_report.curves(findings, column), "epoch", label, falls))
    print(f"\n{experiment_report.markdown(findings)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
