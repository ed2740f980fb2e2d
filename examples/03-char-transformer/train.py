"""A character-level transformer on Shakespeare's plays, on as many ranks as weirrun starts.

    weirrun -np 2 python train.py
    weirrun -np 2 python train.py --compression dgc
"""

import argparse
import pathlib
import time

import torch
import torch.nn.functional as F

import weir.torch as hvd

TEXT = pathlib.Path(__file__).parent.parent / "data" / "tinyshakespeare.txt"
CONTEXT = 64
VOCABULARY = 128  # The text is ASCII.


class Transformer(torch.nn.Module):
    """A decoder of two layers. Predicts each next character of a piece of text."""

    def __init__(self, width=96, heads=4, layers=2):
        super().__init__()
        self.characters = torch.nn.Embedding(VOCABULARY, width)
        self.positions = torch.nn.Embedding(CONTEXT, width)
        layer = torch.nn.TransformerEncoderLayer(width, heads, 4 * width, dropout=0.0,
                                                 batch_first=True, norm_first=True)
        self.layers = torch.nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = torch.nn.Linear(width, VOCABULARY)
        self.register_buffer("mask", torch.nn.Transformer.generate_square_subsequent_mask(CONTEXT),
                             persistent=False)

    def forward(self, text):
        x = self.characters(text) + self.positions.weight
        return self.head(self.layers(x, mask=self.mask, is_causal=True))


def batch(text, size, generator):
    """`size` random pieces and, for each character, the one that follows."""
    starts = torch.randint(len(text) - CONTEXT - 1, (size,), generator=generator)
    pieces = torch.stack([text[start:start + CONTEXT + 1] for start in starts.tolist()])
    return pieces[:, :-1], pieces[:, 1:]


def loss_of(model, inputs, targets):
    return F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--compression", choices=["none", "fp16", "dgc", "auto"], default="none")
    options = parser.parse_args()

    hvd.init()
    torch.manual_seed(42)
    torch.set_num_threads(1)
    text = torch.tensor(list(TEXT.read_bytes()), dtype=torch.long)
    train, validation = text[:-20000], text[-20000:]

    model = Transformer(layers=options.layers)
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    dgc = {"density": 0.01, "warmup_steps": options.steps // 4, "clip_norm": 1.0}
    compression = {
        "none": hvd.Compression.none,
        "fp16": hvd.Compression.fp16,
        "dgc": hvd.Compression.dgc(**dgc),
        "auto": hvd.Compression.auto("dense", "fp16", "dgc", **dgc),
    }[options.compression]
    optimizer = hvd.DistributedOptimizer(
        torch.optim.SGD(model.parameters(), lr=options.lr, momentum=0.9, nesterov=True),
        named_parameters=model.named_parameters(), compression=compression)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, options.lr,
                                                   total_steps=options.steps,
                                                   cycle_momentum=False)

    generator = torch.Generator().manual_seed(1000 + hvd.rank())  # Other text on each rank.
    start = time.perf_counter()
    for _ in range(options.steps):
        optimizer.zero_grad()
        loss_of(model, *batch(train, 16, generator)).backward()
        optimizer.step()
        schedule.step()
    with torch.no_grad():
        loss = loss_of(model, *batch(validation, 256, torch.Generator().manual_seed(1)))
    loss = hvd.allreduce(loss, name="validation loss")
    if hvd.rank() == 0:
        report = optimizer.step_report
        print(f"{options.compression}: {loss.item():.3f} nats a character after {options.steps} "
              f"steps on {hvd.size()} ranks in {time.perf_counter() - start:.1f} s; the last step "
              f"sent {report.wire_bytes:,} of {report.dense_bytes:,} bytes")


if __name__ == "__main__":
    main()
