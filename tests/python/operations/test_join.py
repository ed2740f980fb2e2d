"""Ranks with less data than others."""

import pytest
import torch

import weir.torch as hvd
from weir.torch import HorovodInternalError


def last_of(size):
    return size - 1


def test_sums_and_averages_go_on_with_zeros(rank, size):
    for _ in range(2):
        for step in range(3 * (rank + 1)):
            present = range(step // 3, size)
            total = float(sum(2**other for other in present))
            mine = torch.full((2, 3), 2.0**rank)
            # Without a name: ranks count the same although they do not do the same.
            assert torch.equal(hvd.allreduce(mine, op=hvd.Sum), torch.full((2, 3), total))
            assert torch.equal(hvd.allreduce(mine), torch.full((2, 3), total) / size)
            halves = hvd.grouped_allreduce([mine.half(), mine.int()], op=hvd.Sum)
            assert [half.flatten()[0].item() for half in halves] == [total, total]
        assert hvd.join() == last_of(size)
        assert hvd.allreduce(torch.ones(1), op=hvd.Sum).item() == size
        assert hvd.allgather(torch.tensor([rank])).tolist() == list(range(size))


def test_other_operations_are_refused_and_the_next_one_runs(rank, size):
    if rank == 0:
        assert hvd.join() in range(size)
        return
    tensor = torch.ones(size)
    refused = [
        ("Allgather is not supported with Join at this time. Specify sparse_to_dense=True",
         lambda: hvd.allgather(tensor)),
        ("Broadcast is not supported with Join", lambda: hvd.broadcast(tensor, 1)),
        ("Alltoall is not supported with Join", lambda: hvd.alltoall(tensor)),
        ("Reducescatter is not supported with Join", lambda: hvd.reducescatter(tensor)),
        ("Barrier is not supported with Join", hvd.barrier),
        ("Allreduce is not supported with Join", lambda: hvd.allreduce(tensor, op=hvd.Max)),
    ]
    for stem, call in refused:
        with pytest.raises(HorovodInternalError) as error:
            call()
        assert str(error.value).startswith(stem)
        assert "ranks [0] have joined" in str(error.value)
        assert hvd.allreduce(tensor, op=hvd.Sum, name="fine").tolist() == [size - 1.0] * size
    hvd.join()


@pytest.mark.parametrize("compression", [
    hvd.Compression.none, hvd.Compression.fp16,
    hvd.Compression.dgc(density=0.05, momentum="none", min_elements=1, policy="always")],
    ids=["none", "fp16", "dgc"])
@pytest.mark.parametrize("from_the_start", [True, False])
def test_an_optimizer_trains_on_with_fewer_ranks(rank, size, compression, from_the_start):
    torch.manual_seed(7)
    net = torch.nn.Linear(20, 10)
    optimizer = hvd.DistributedOptimizer(
        torch.optim.SGD(net.parameters(), lr=0.1), named_parameters=net.named_parameters(),
        compression=compression)

    def step():
        optimizer.zero_grad()
        net(torch.ones(4, 20) * (rank + 1)).square().mean().backward()
        optimizer.step()

    if not from_the_start:
        step()
        step()
    before = [parameter.detach().clone() for parameter in net.parameters()]
    for _ in range(3 if rank == last_of(size) else 0):
        step()
    moved = any(not torch.equal(a, b) for a, b in zip(before, net.parameters()))
    assert moved == (rank == last_of(size))
    assert hvd.join() == last_of(size)
    # As the documentation says, before they go on together.
    hvd.broadcast_parameters(net.state_dict(), root_rank=last_of(size))
    hvd.broadcast_optimizer_state(optimizer, root_rank=last_of(size), model=net)
    step()
    for parameter in net.parameters():
        assert torch.equal(hvd.broadcast(parameter.detach(), 0), parameter)


def test_what_was_asked_for_before_is_answered_whoever_joins_last(rank, size):
    for first in range(size):
        hvd.allreduce(torch.ones(1), name="x", op=hvd.Sum)  # From here on the name has a slot.
        mine = torch.ones(1)
        if rank == first:
            handle = hvd.allreduce_async_(mine, name="x", op=hvd.Sum)
            loose = hvd.allreduce_async(torch.ones(1), name="alone", op=hvd.Sum)
            hvd.join()
            assert hvd.synchronize(handle).item() == size
            assert hvd.synchronize(loose).item() == 1  # The others have joined without it.
        else:
            assert hvd.allreduce(mine, name="x", op=hvd.Sum).item() == size
            hvd.join()


def test_it_concerns_one_process_set_alone(rank, size):
    pairs = hvd.add_process_set([0, size - 1]) if size > 2 else hvd.global_process_set
    if rank == 0:
        assert hvd.join(process_set=pairs) == last_of(size)
    elif rank == last_of(size):
        assert hvd.allreduce(torch.ones(1), op=hvd.Sum, process_set=pairs).item() == 1
        assert hvd.join(process_set=pairs) == last_of(size)
    else:
        with pytest.raises(ValueError, match="JOIN: Rank . is not a member"):
            hvd.join(process_set=pairs)
    assert hvd.allreduce(torch.ones(1), op=hvd.Sum).item() == size
    if size > 2:
        hvd.remove_process_set(pairs)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["fused", "one by one"])
def test_it_is_refused_in_the_middle_of_a_step(size, dtype):
    net = torch.nn.Linear(2, 2, dtype=dtype)
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(net.parameters(), lr=0.1),
                                         named_parameters=net.named_parameters())
    for _ in range(2):  # In the first one gradients are held back.
        net(torch.ones(2, dtype=dtype)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    net(torch.ones(2, dtype=dtype)).sum().backward()
    with pytest.raises(ValueError, match="in the middle of a step"):
        hvd.join()
    optimizer.step()
    assert hvd.join() in range(size)
