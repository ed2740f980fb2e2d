import torch

import weir.torch as hvd

hvd.init()  # A rank of a weirrun job; otherwise a job of one.
torch.manual_seed(hvd.rank())
model = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
hvd.broadcast_parameters(model.state_dict(), root_rank=0)
optimizer = hvd.DistributedOptimizer(
    optimizer, named_parameters=model.named_parameters(),
    compression=hvd.Compression.dgc(density=0.01, warmup_steps=100))
for step in range(500):
    inputs = torch.randn(32, 64)
    optimizer.zero_grad()
    loss = (model(inputs) - inputs).square().mean()
    loss.backward()  # Gradients are exchanged while the rest of it still runs.
    optimizer.step()
print(f"rank {hvd.rank()} of {hvd.size()}: loss {loss.item():.3f}, "
      f"weight[0, 0] = {model.weight[0, 0].item():.6f}")
