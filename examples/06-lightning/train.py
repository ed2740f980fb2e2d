"""Classifies handwritten digits with Lightning, which starts the ranks by itself.

    python train.py --strategy weir_dgc
    python train.py --strategy weir_dgc --epochs 12 --resume    # Goes on from the last epoch.
"""

import argparse
import pathlib

import lightning
import sklearn.datasets
import torch
import torch.nn.functional as F

import weir.lightning


class Digits(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(64, 512), torch.nn.ReLU(),
                                          torch.nn.Linear(512, 10))

    def training_step(self, batch, _):
        images, labels = batch
        loss = F.cross_entropy(self.layers(images), labels)
        self.log("loss", loss, prog_bar=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.05, momentum=0.9)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--strategy", default="weir", help="weir or weir_dgc")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--folder", type=pathlib.Path, default="digits")
    parser.add_argument("--resume", action="store_true")
    options = parser.parse_args()

    lightning.seed_everything(1)
    digits = sklearn.datasets.load_digits()
    images = torch.tensor(digits.data, dtype=torch.float32) / 16
    data = torch.utils.data.TensorDataset(images, torch.tensor(digits.target))
    trainer = lightning.Trainer(accelerator="cpu", devices=2, strategy=options.strategy,
                                max_epochs=options.epochs, default_root_dir=options.folder,
                                log_every_n_steps=10, logger=lightning.pytorch.loggers.CSVLogger(options.folder),
                                enable_checkpointing=False)
    last = options.folder / "last.ckpt"
    trainer.fit(Digits(), torch.utils.data.DataLoader(data, batch_size=16, shuffle=True),
                ckpt_path=last if options.resume else None)
    trainer.save_checkpoint(last)


if __name__ == "__main__":
    main()
