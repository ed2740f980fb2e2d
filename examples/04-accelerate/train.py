"""Classifies handwritten digits with Accelerate.

    torchrun --nproc-per-node 2 train.py --compression dgc
    torchrun --nproc-per-node 2 train.py --compression dgc --resume    # Goes on from the last epoch.
"""

import argparse
import pathlib

import accelerate
import sklearn.datasets
import torch
import torch.nn.functional as F

import weir.accelerate


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--compression", default="none")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--folder", type=pathlib.Path, default="digits")
    parser.add_argument("--resume", action="store_true")
    options = parser.parse_args()

    accelerator = accelerate.Accelerator(
        cpu=True, gradient_accumulation_steps=2,
        dataloader_config=accelerate.DataLoaderConfiguration(use_seedable_sampler=True))
    accelerate.utils.set_seed(1)
    digits = sklearn.datasets.load_digits()
    images = torch.tensor(digits.data, dtype=torch.float32) / 16
    data = torch.utils.data.TensorDataset(images, torch.tensor(digits.target))
    loader = torch.utils.data.DataLoader(data, batch_size=16, shuffle=True)
    model = torch.nn.Sequential(torch.nn.Linear(64, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    weir.accelerate.compress(accelerator, model, optimizer, options.compression)

    begin = 0
    if options.resume:
        accelerator.load_state(options.folder)
        begin = int((options.folder / "epoch").read_text())
    for epoch in range(begin, options.epochs):
        loader.set_epoch(epoch)
        for images, labels in loader:
            with accelerator.accumulate(model):
                optimizer.zero_grad()
                loss = F.cross_entropy(model(images), labels)
                accelerator.backward(loss)
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
        accelerator.save_state(options.folder)
        (options.folder / "epoch").write_text(str(epoch + 1))
        shown = ", ".join(f"{name} {value:.3g}"
                          for name, value in weir.accelerate.report(model, optimizer).items())
        accelerator.print(f"epoch {epoch}: loss {loss.item():.3f}, {shown}")
    accelerator.end_training()  # PyTorch's threads must not outlive the interpreter.


if __name__ == "__main__":
    main()
