import torch

import weir.torch as hvd


class FixedPoint(hvd.Compressor):
    """Gradients travel as whole numbers of 1/65536: their sum has the same bits in any order."""

    @staticmethod
    def compress(tensor):
        return (tensor * 65536).round().to(torch.int32), tensor.dtype

    @staticmethod
    def decompress(tensor, ctx):
        return tensor.to(ctx) / 65536


hvd.init()
model = torch.nn.Linear(8, 1)
hvd.broadcast_parameters(model.state_dict(), root_rank=0)
optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1),
                                     model.named_parameters(), compression=FixedPoint)
for step in range(100):
    inputs = torch.randn(16, 8)
    optimizer.zero_grad()
    loss = (model(inputs) - inputs.sum(1, keepdim=True)).square().mean()
    loss.backward()
    optimizer.step()
