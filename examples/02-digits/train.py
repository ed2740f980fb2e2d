"""Classifies handwritten digits, on as many ranks as weirrun starts.

    weirrun -np 2 python train.py
    weirrun -np 2 python train.py --compression dgc
"""

import argparse
import time

import sklearn.datasets
import torch
import torch.nn.functional as F

import weir.torch as hvd


class Net(torch.nn.Module):
    """Two convolutions and two dense layers for images of 8 x 8."""

    def __init__(self):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(1, 32, 3, padding=1)
        self.conv2 = torch.nn.Conv2d(32, 64, 3, padding=1)
        self.dense1 = torch.nn.Linear(64 * 4 * 4, 256)
        self.dense2 = torch.nn.Linear(256, 10)

    def forward(self, images):
        x = F.relu(self.conv1(images))
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.dense2(F.relu(self.dense1(x.flatten(1))))


def datasets():
    """1,797 images that come with scikit-learn: every fifth one is for testing."""
    digits = sklearn.datasets.load_digits()
    images = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 16
    whole = torch.utils.data.TensorDataset(images, torch.tensor(digits.target))
    test = range(0, len(whole), 5)
    train = [i for i in range(len(whole)) if i % 5]
    return torch.utils.data.Subset(whole, train), torch.utils.data.Subset(whole, test)


def accuracy(model, test):
    """Accuracy on the whole test set; each rank checks its part."""
    mine = torch.utils.data.Subset(test, range(hvd.rank(), len(test), hvd.size()))
    right = torch.tensor(0)
    with torch.no_grad():
        for images, labels in torch.utils.data.DataLoader(mine, batch_size=256):
            right += (model(images).argmax(1) == labels).sum()
    return hvd.allreduce(right, op=hvd.Sum).item() / len(test)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--compression", choices=["none", "fp16", "dgc"], default="none")
    options = parser.parse_args()

    hvd.init()
    torch.manual_seed(42)
    torch.set_num_threads(1)
    train, test = datasets()
    sampler = torch.utils.data.distributed.DistributedSampler(
        train, num_replicas=hvd.size(), rank=hvd.rank())
    loader = torch.utils.data.DataLoader(train, batch_size=32, sampler=sampler)

    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=options.lr, momentum=0.9)
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)
    compression = {
        "none": hvd.Compression.none,
        "fp16": hvd.Compression.fp16,
        "dgc": hvd.Compression.dgc(density=0.01, warmup_steps=4 * len(loader)),
    }[options.compression]
    optimizer = hvd.DistributedOptimizer(
        optimizer, named_parameters=model.named_parameters(), compression=compression)

    start = time.perf_counter()
    for epoch in range(options.epochs):
        sampler.set_epoch(epoch)
        for images, labels in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(images), labels).backward()
            optimizer.step()
    found = accuracy(model, test)
    if hvd.rank() == 0:
        report = optimizer.step_report
        print(f"{options.compression}: accuracy {found:.3f} after {options.epochs} epochs on "
              f"{hvd.size()} ranks in {time.perf_counter() - start:.1f} s; the last step sent "
              f"{report.wire_bytes:,} of {report.dense_bytes:,} bytes")


if __name__ == "__main__":
    main()
