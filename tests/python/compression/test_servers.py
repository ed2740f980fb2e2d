"""Summation servers of their own, and training without waiting, from Python."""

import pytest
from scripted import ran

PROGRAM = """
    import torch, weir, weir.torch as hvd

    def train(compression, steps=30):
        hvd.init()
        torch.manual_seed(1)
        net = torch.nn.Sequential(torch.nn.Linear(20, 40), torch.nn.Tanh(), torch.nn.Linear(40, 3))
        optimizer = hvd.DistributedOptimizer(torch.optim.SGD(net.parameters(), lr=0.05),
                                             net.named_parameters(), compression)
        losses = []
        for step in range(steps):
            torch.manual_seed(100 * (step % 3) + hvd.rank())
            inputs = torch.randn(16, 20)
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(net(inputs), inputs[:, :3])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        hvd.broadcast_parameters(net.state_dict(), root_rank=0)
        weights = torch.cat([p.detach().flatten() for p in net.parameters()])
        return hvd.size(), weights, losses

    options = {"compressor": "topk", "k": 0.1, "ef": "vanilla", "min_elements": 1,
               "route": "push_pull", "partition_bytes": 400}
"""


def test_servers_train_as_the_ranks_would_themselves(folder):
    code, out, error = ran(folder, PROGRAM + """
    if __name__ == "__main__":
        here = weir.run(train, args=(options,), np=2)
        for servers in (1, 2):
            there = weir.run(train, args=(options,), np=2, servers=servers)
            assert [result[0] for result in there] == [2, 2], (servers, there)
            assert torch.equal(here[0][1], there[0][1]) and torch.equal(here[1][1], there[1][1]), servers
            assert sum(there[0][2][-3:]) < sum(there[0][2][:3]), servers
        print("DONE")
    """)
    assert code == 0 and "DONE" in out, error


@pytest.mark.parametrize("servers", [0, 1])
def test_ranks_that_do_not_wait_train_too(folder, servers):
    code, out, error = ran(folder, PROGRAM + f"""
    if __name__ == "__main__":
        options["max_staleness"] = 3
        for size, weights, losses in weir.run(train, args=(options,), np=3, servers={servers}):
            assert size == 3
            assert sum(losses[-3:]) < 0.9 * sum(losses[:3]), losses
        print("DONE")
    """)
    assert code == 0 and "DONE" in out, error


def test_the_number_of_servers_is_whole(rank):
    import weir
    with pytest.raises(TypeError, match="servers='two' is not a whole number"):
        weir.run(print, servers="two")
