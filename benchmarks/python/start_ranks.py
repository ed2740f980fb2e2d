"""A rank of the benchmark start: says when it began, had imported, had joined and had taken a step."""

import time

began = time.time()

import torch  # noqa: E402

import weir.torch as hvd  # noqa: E402


def step(model, optimizer):
    model(torch.ones(1, 64)).sum().backward()
    optimizer.step()


def main():
    torch.set_num_threads(1)
    model = torch.nn.Linear(64, 64)
    plain = torch.optim.SGD(model.parameters(), lr=0.01)
    step(model, plain)  # The first one of a process imports more of PyTorch, for some seconds.
    imported = time.time()
    hvd.init()
    joined = time.time()
    step(model, hvd.DistributedOptimizer(plain, model.named_parameters()))
    print(began, imported, joined, time.time(), flush=True)


if __name__ == "__main__":
    main()
