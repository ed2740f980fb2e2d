"""Classifies the images of CIFAR-10, on as many ranks as weirrun starts.

    weirrun -np 4 python train.py --data cifar-10-python.tar.gz
    weirrun -np 4 python train.py --data cifar-10-python.tar.gz --compression compressor=dgc,density=0.001
"""

import argparse
import json
import math
import pathlib
import time

import torch
import torch.nn.functional as F

import weir.torch as hvd
from images import CLASSES, SIDE, Images, load
from model import ResNet

PADDING = 4


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="the files of CIFAR-10, see images.py")
    parser.add_argument("--images", type=int, default=50000, help="train on the first ones only (default all)")
    parser.add_argument("--depth", type=int, default=20, help="layers, 6 n + 2 (default %(default)s)")
    parser.add_argument("--width", type=int, default=16, help="channels of the first stage (default %(default)s)")
    parser.add_argument("--epochs", type=int, default=164)
    parser.add_argument("--batch", type=int, default=32, help="images of a rank (default %(default)s)")
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--compression", default="none", help="options as in WEIR_COMPRESSION (default dense)")
    parser.add_argument("--warmup-epochs", type=int, default=4, help="of the density (default %(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--json", type=pathlib.Path, help="where rank 0 writes its result")
    return parser.parse_args()


class Augmentation:
    """Pixels to numbers around 0; for training, shifted by up to 4 pixels and mirrored at random."""

    def __init__(self, train, device):
        pixels = train.pixels.float() / 255
        self._mean = pixels.mean((0, 2, 3), keepdim=True).to(device)
        self._deviation = pixels.std((0, 2, 3), keepdim=True).to(device)

    def plain(self, pixels):
        return (pixels.float() / 255 - self._mean) / self._deviation

    def random(self, pixels, generator):
        n, device = len(pixels), pixels.device
        padded = F.pad(self.plain(pixels), (PADDING,) * 4)
        down, right = torch.randint(2 * PADDING + 1, (2, n, 1), generator=generator).to(device)
        mirrored = torch.randint(2, (n, 1), generator=generator).to(device)
        side = torch.arange(SIDE, device=device)
        columns = torch.where(mirrored == 1, SIDE - 1 - side, side) + right
        rows = side + down
        image = torch.arange(n, device=device)
        return padded[image[:, None, None], :, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)


class Training:
    def __init__(self, options):
        self._options, self._device = options, torch.device(options.device)
        data = load(options.data)
        self._train = self._on_device(Images(*(of_all[:options.images] for of_all in data.train)))
        self._test = self._on_device(data.test)
        self._augmentation = Augmentation(self._train, self._device)
        self._generator = torch.Generator().manual_seed(1000 * options.seed + hvd.rank())
        torch.manual_seed(options.seed)  # The same initial parameters on all ranks.
        self.model = ResNet(options.depth, options.width, CLASSES).to(self._device)
        self.steps_of_epoch = len(self._train.labels) // (options.batch * hvd.size())
        if self.steps_of_epoch == 0:
            raise ValueError(f"{len(self._train.labels)} images fill no batch of {options.batch} on each of "
                             f"{hvd.size()} ranks")
        optimizer = torch.optim.SGD(self.model.parameters(), lr=options.lr, momentum=0.9, weight_decay=1e-4)
        self._optimizer = hvd.DistributedOptimizer(
            optimizer, named_parameters=self.model.named_parameters(), compression=self._compression())
        self._schedule = torch.optim.lr_scheduler.MultiStepLR(
            self._optimizer, [options.epochs // 2, options.epochs * 3 // 4])
        self.curve, self.sent, self.dense = [], 0, 0

    def _on_device(self, images):
        return Images(*(of_all.to(self._device) for of_all in images))

    def _compression(self):
        text, epochs = self._options.compression, self._options.warmup_epochs
        if "compressor=dgc" not in text or "warmup_steps" in text:
            return text
        return f"{text},warmup_steps={epochs * self.steps_of_epoch}"

    def epoch(self, number):
        """Each rank takes every so many-th image of one order; the remainder that fills no batch is left out."""
        order = torch.randperm(len(self._train.labels),
                               generator=torch.Generator().manual_seed(100_000 * self._options.seed + number))
        mine = order[hvd.rank()::hvd.size()].to(self._device)
        self.model.train()
        loss = torch.zeros((), device=self._device)
        for step in range(self.steps_of_epoch):
            batch = mine[step * self._options.batch:(step + 1) * self._options.batch]
            loss += self._step(self._train.pixels[batch], self._train.labels[batch])
        self._schedule.step()
        loss = hvd.allreduce(loss / self.steps_of_epoch, name="loss").item()
        self.curve.append([number + 1, self.accuracy(), loss if math.isfinite(loss) else None])

    def _step(self, pixels, labels):
        self._optimizer.zero_grad()
        loss = F.cross_entropy(self.model(self._augmentation.random(pixels, self._generator)), labels)
        loss.backward()
        self._optimizer.step()
        report = self._optimizer.step_report
        self.sent += report.wire_bytes
        self.dense += report.dense_bytes
        return loss.detach()

    @torch.no_grad()
    def accuracy(self):
        """Per cent of the test images. Statistics of batch norm differ between ranks: their mean counts."""
        self.model.eval()
        for name, buffer in self.model.named_buffers():
            if buffer.is_floating_point():
                hvd.allreduce_(buffer, name=name)
        right = torch.zeros((), dtype=torch.int64, device=self._device)
        mine = torch.arange(hvd.rank(), len(self._test.labels), hvd.size(), device=self._device)
        for part in mine.split(500):
            scores = self.model(self._augmentation.plain(self._test.pixels[part]))
            right += (scores.argmax(1) == self._test.labels[part]).sum()
        return 100 * hvd.allreduce(right, op=hvd.Sum, name="right").item() / len(self._test.labels)


def main():
    options = parse_arguments()
    hvd.init()
    if options.device == "cpu":
        torch.set_num_threads(1)
    else:
        torch.cuda.set_device(hvd.local_rank() % torch.cuda.device_count())
    training = Training(options)
    started = time.perf_counter()
    for number in range(options.epochs):
        training.epoch(number)
        if hvd.rank() == 0:
            epoch, accuracy, loss = training.curve[-1]
            print(f"epoch {epoch}: loss {'not finite' if loss is None else f'{loss:.3f}'}, accuracy {accuracy:.2f} % on the test images, "
                  f"{time.perf_counter() - started:.0f} s", flush=True)
    if hvd.rank() == 0 and options.json:
        options.json.write_text(json.dumps({
            "parameters": sum(p.numel() for p in training.model.parameters()), "ranks": hvd.size(),
            "steps": options.epochs * training.steps_of_epoch, "accuracy": training.curve[-1][1],
            "curve": training.curve, "seconds": time.perf_counter() - started,
            "sent_bytes": training.sent, "dense_bytes": training.dense}))
    hvd.shutdown()


if __name__ == "__main__":
    main()
