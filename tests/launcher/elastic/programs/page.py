"""Runs the program of docs/how-to/survive-lost-ranks.md, with steps that can be counted in its model: the gradient
is always the same. Process 2 dies between two commits."""

import os
import pathlib
import re
import signal

import torch

PAGE = pathlib.Path(__file__).parents[4] / "docs" / "how-to" / "survive-lost-ranks.md"
epochs, batches = 2, 120
model = torch.nn.Linear(1, 1, bias=False)
torch.nn.init.zeros_(model.weight)


def samples(batch, _rank, _size):
    return batch, torch.ones(1)


def step(batch, inputs):
    if os.environ["HOROVOD_RANK"] == "2" and batch == 75:
        os.kill(os.getpid(), signal.SIGKILL)
    program["optimizer"].zero_grad()
    model(inputs).backward()
    program["optimizer"].step()


def expected():
    """The weight after every batch was taken once."""
    other = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.zeros_(other.weight)
    optimizer = torch.optim.SGD(other.parameters(), lr=0.05, momentum=0.9)
    for _ in range(epochs * batches):
        optimizer.zero_grad()
        other(torch.ones(1)).backward()
        optimizer.step()
    return other.weight


program = {**globals()}
exec(re.search(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)[1], program)
print(f"each batch was taken once: {torch.allclose(model.weight, expected(), rtol=1e-4)}", flush=True)
