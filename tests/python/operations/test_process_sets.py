"""Process sets: all ranks register, members take part."""

import copy
import itertools
import pickle
import re

import pytest
import torch

import weir.torch as hvd

UNKNOWN = "Process set provided does not exist, or has not been registered."


@pytest.fixture
def sets(size):
    """A set for each choice of ranks that is not the whole job: they overlap in every way."""
    made = [hvd.add_process_set(list(ranks)) for count in range(1, size)
            for ranks in itertools.combinations(range(size), count)]
    yield made
    for each in made:
        hvd.remove_process_set(each)


def mine_of(sets):
    return [each for each in sets if each.included()]


def value(rank):
    return torch.tensor([[float(2**rank)]])


def test_a_set_knows_its_members(rank, size, sets):
    for each in sets:
        assert each.size() == len(each.ranks) and each.mpi_comm is None
        assert each.included() == (rank in each.ranks)
        assert each.rank() == (each.ranks.index(rank) if rank in each.ranks else None)
    ids = [each.process_set_id for each in sets]
    assert ids == sorted(set(ids)) and 0 not in ids
    whole = hvd.global_process_set
    assert (whole.process_set_id, whole.ranks, whole.rank()) == (0, list(range(size)), rank)


def test_one_that_is_not_registered_knows_nothing(rank):
    loose = hvd.ProcessSet([0])
    assert (loose.process_set_id, loose.ranks) == (None, [0])
    assert (loose.size(), loose.rank(), loose.included()) == (None, None, None)
    with pytest.raises(ValueError, match=re.escape(f"ALLREDUCE: {UNKNOWN}")):
        hvd.allreduce(torch.ones(1), process_set=loose)


def test_every_operation_stays_among_the_members(rank, sets):
    for each in mine_of(sets):
        ranks, last = each.ranks, each.ranks[-1]
        total = sum(2.0**member for member in ranks)
        values = torch.cat([value(member) for member in ranks])
        mine = value(rank)
        assert hvd.allreduce(mine, op=hvd.Sum, process_set=each).item() == total
        assert hvd.allreduce(mine, process_set=each).item() == pytest.approx(total / len(ranks))
        pair = hvd.grouped_allreduce([mine, mine], op=hvd.Sum, process_set=each)
        assert [tensor.item() for tensor in pair] == [total, total]
        assert torch.equal(hvd.allgather(mine, process_set=each), values)
        assert torch.equal(hvd.grouped_allgather([mine], process_set=each)[0], values)
        rows = mine.repeat(len(ranks), 1)
        assert torch.equal(hvd.alltoall(rows, process_set=each), values)
        assert torch.equal(hvd.reducescatter(rows, op=hvd.Sum, process_set=each),
                           torch.tensor([[total]]))
        assert torch.equal(hvd.broadcast(mine, last, process_set=each), value(last))
        sparse = hvd.sparse_allreduce_async(mine.to_sparse(1), op=hvd.Sum, process_set=each)
        assert sparse().to_dense().item() == total
        assert hvd.broadcast_object({"from": rank}, last, process_set=each) == {"from": last}
        assert hvd.allgather_object(rank, process_set=each) == ranks
        hvd.barrier(process_set=each)


def test_operations_without_names_match_whatever_other_sets_do(rank, size, sets):
    for each in mine_of(sets)[rank:]:  # Ranks do different numbers of operations.
        if each.size() == 1:
            hvd.allreduce(torch.ones(1), process_set=each)
            hvd.allgather(torch.ones(1), process_set=each)
    assert hvd.allreduce(torch.ones(1), op=hvd.Sum).item() == size
    assert len(hvd.allgather(torch.ones(1))) == size


def test_operations_of_many_sets_are_under_way_at_once(rank, sets):
    own = mine_of(sets)
    turn = rank % max(len(own), 1)
    handles = [(each, hvd.allreduce_async(value(rank), name="same", op=hvd.Sum, process_set=each))
               for each in own[turn:] + own[:turn]]
    for each, handle in handles:
        assert hvd.synchronize(handle).item() == sum(2.0**member for member in each.ranks)


def test_gradients_of_operations_stay_among_the_members(rank, sets):
    for each in mine_of(sets):
        n = each.size()
        x = value(rank).requires_grad_()
        hvd.allreduce(x, op=hvd.Sum, process_set=each).sum().backward()
        assert x.grad.item() == n
        x.grad = None
        weights = torch.arange(1.0, n + 1).view(-1, 1)
        (hvd.allgather(x, process_set=each) * weights).sum().backward()
        assert x.grad.item() == each.rank() + 1
        x = torch.ones(n, 1, requires_grad=True)
        hvd.reducescatter(x, op=hvd.Sum, process_set=each).sum().backward()
        assert torch.equal(x.grad, torch.full((n, 1), float(n)))
        x = value(rank).requires_grad_()
        hvd.broadcast(x, each.ranks[0], process_set=each).sum().backward()
        assert x.grad.item() == (1.0 if rank == each.ranks[0] else 0.0)


def test_who_is_no_member_is_refused(rank, sets):
    for each in sets:
        if each.included():
            continue
        text = f"Rank {rank} is not a member of the provided process set."
        for call in (lambda: hvd.allreduce(torch.ones(1), process_set=each),
                     lambda: hvd.grouped_allreduce([torch.ones(1)], process_set=each),
                     lambda: hvd.allgather(torch.ones(1), process_set=each),
                     lambda: hvd.broadcast(torch.ones(1), each.ranks[0], process_set=each),
                     lambda: hvd.alltoall(torch.ones(1), process_set=each),
                     lambda: hvd.reducescatter(torch.ones(1), process_set=each),
                     lambda: hvd.barrier(process_set=each)):
            with pytest.raises(ValueError, match=re.escape(text)):
                call()


def test_an_optimizer_of_another_set_steps_alone(rank, sets):
    """As in Horovod: every rank may make it, whoever trains together."""
    for each in sets:
        if each.included():
            continue
        parameter = torch.nn.Parameter(torch.ones(2))
        optimizer = hvd.DistributedOptimizer(
            torch.optim.SGD([parameter], lr=0.5, momentum=0.5), [("p", parameter)],
            compression=hvd.Compression.dgc(density=0.5), process_set=each)
        for expected in (0.5, -0.25):  # Momentum is its own.
            optimizer.zero_grad()
            parameter.sum().backward()
            optimizer.synchronize()
            with optimizer.skip_synchronize():
                optimizer.step()
            assert parameter.tolist() == [expected] * 2
        optimizer.load_state_dict(optimizer.state_dict())


def test_a_saved_set_is_one_that_is_not_registered(sets):
    whole = pickle.loads(pickle.dumps(hvd.global_process_set))
    assert whole is hvd.global_process_set
    for each in sets:
        loaded = pickle.loads(pickle.dumps(each))
        assert (loaded.ranks, loaded.process_set_id) == (each.ranks, None)


def test_recovery_registers_the_sets_again(rank, size):
    if size < 2:
        return
    only = hvd.add_process_set([0])
    found = []

    @hvd.elastic.run
    def train(state):
        found.append(only.process_set_id)
        if len(found) == 1:
            raise hvd.HorovodInternalError("made up")
        if rank == 0:
            hvd.barrier(process_set=only)

    train(hvd.elastic.TorchState())
    assert found[1] == 1  # The first one of another job.
    hvd.remove_process_set(only)


def test_a_root_that_is_no_member_is_refused(size, sets):
    for each in mine_of(sets):
        other = next(member for member in range(size) if member not in each.ranks)
        with pytest.raises(ValueError, match=f"root_rank={other}"):
            hvd.broadcast(torch.ones(1), other, process_set=each)


@pytest.mark.parametrize("ranks,text", [([], "at least one"), ([0, 0], "rank 0 is there twice"),
                                        ([99], "rank 99 is impossible"),
                                        ("ab", "give the ranks of the job"),
                                        (3, "give the ranks of the job")])
def test_what_is_no_set_is_refused(ranks, text):
    with pytest.raises(ValueError, match=text):
        hvd.add_process_set(ranks)


def test_ranks_that_another_set_has_are_refused(size):
    with pytest.raises(ValueError, match="process set 0, the whole job, has the ranks"):
        hvd.add_process_set(range(size))


def test_ranks_that_add_other_sets_are_told(rank, size):
    if size < 2:
        return
    with pytest.raises(hvd.Mismatch, match=r"change=add \[0\].*change=add \[1\]"):
        hvd.add_process_set([0] if rank == 0 else [1])


def test_a_removed_set_is_no_more(rank, size):
    if size < 2:
        return
    first = hvd.add_process_set([0])
    number = first.process_set_id
    with pytest.raises(ValueError, match="is registered already"):
        hvd.add_process_set(first)
    assert hvd.remove_process_set(first) is True
    assert first.process_set_id is None and first.included() is None
    assert hvd.remove_process_set(first) is False
    assert hvd.remove_process_set(hvd.global_process_set) is False
    with pytest.raises(ValueError, match=re.escape(UNKNOWN)):
        hvd.barrier(process_set=first)
    assert hvd.add_process_set(first).process_set_id == number + 1
    hvd.remove_process_set(first)


def test_one_with_an_optimizer_is_removed_between_its_steps(rank, size):
    if size < 2:
        return
    only = hvd.add_process_set([0])
    model = torch.nn.Linear(1, 1)
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=1.0),
                                         process_set=only)
    for _ in range(2):
        model(torch.ones(1)).sum().backward()
        optimizer.step()
    model(torch.ones(1)).sum().backward()
    error = ValueError if rank == 0 else hvd.Mismatch
    with pytest.raises(error, match="'DistributedOptimizer.0/0' uses it on rank 0"):
        hvd.remove_process_set(only)
    optimizer.step()
    assert hvd.remove_process_set(only)
    if rank == 0:
        model(torch.ones(1)).sum().backward()
        with pytest.raises(ValueError, match=re.escape(UNKNOWN)):
            optimizer.step()


@pytest.mark.parametrize("compression", [
    hvd.Compression.none, hvd.Compression.dgc(density=0.25, warmup_steps=2, clip_norm=0.5)])
def test_two_sets_train_beside_each_other(rank, size, compression):
    """Replicas stay equal within a set, and dense training is that on its members' mean."""
    if size < 2:
        return
    halves = [list(range(size // 2)), list(range(size // 2, size))]
    made = [hvd.add_process_set(ranks) for ranks in halves]
    own = next(each for each in made if each.included())
    torch.manual_seed(5)
    model = torch.nn.Linear(3, 2)
    alone = copy.deepcopy(model)
    optimizer = hvd.DistributedOptimizer(
        torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9), model.named_parameters(),
        compression=compression, process_set=own)
    plain = torch.optim.SGD(alone.parameters(), lr=0.1, momentum=0.9)

    def loss(module, member, step):
        torch.manual_seed(1000 * step + member)
        return module(torch.randn(4, 3)).pow(2).sum()

    for step in range(6):
        optimizer.zero_grad()
        loss(model, rank, step).backward()
        optimizer.step()
        plain.zero_grad()
        (sum(loss(alone, member, step) for member in own.ranks) / own.size()).backward()
        plain.step()
        replicas = hvd.allgather(model.weight.detach().view(1, -1), process_set=own)
        assert (replicas == replicas[0]).all()
    if compression is hvd.Compression.none:
        torch.testing.assert_close(model.weight, alone.weight)
    optimizer._weir_leave()
    for each in made:
        assert hvd.remove_process_set(each)


@pytest.mark.parametrize("compression", [
    hvd.Compression.none, hvd.Compression.dgc(density=0.25, skip_nonfinite=True)])
def test_nobody_else_needs_to_train(rank, size, compression):
    """Sparse gradients and a parameter of another kind too: only the members must agree."""
    if size < 2:
        return
    only = hvd.add_process_set([0])
    if rank == 0:
        words, linear = torch.nn.Embedding(5, 2, sparse=True), torch.nn.Linear(2, 2)
        linear.bias = torch.nn.Parameter(linear.bias.detach().double())
        parameters = [*words.parameters(), *linear.parameters()]
        optimizer = hvd.DistributedOptimizer(torch.optim.SGD(parameters, lr=0.1),
                                             compression=compression, process_set=only)
        for _ in range(2):
            optimizer.zero_grad()
            hidden = words(torch.tensor([1, 3])) @ linear.weight.T
            (hidden.double() + linear.bias).square().sum().backward()
            optimizer.step()
        hvd.broadcast_optimizer_state(optimizer, 0, process_set=only)
        optimizer._weir_leave()
    assert hvd.remove_process_set(only)


def test_a_module_shares_its_batches_with_a_set(rank, size):
    if size < 3:
        return
    pair = hvd.add_process_set([0, 2])
    module = hvd.SyncBatchNorm(1, process_set=pair)
    assert copy.deepcopy(module).process_set is pair
    if pair.included():
        output = module(torch.tensor([[float(rank)]]))  # Values 0 and 2: mean 1, deviation 1.
        torch.testing.assert_close(output, torch.tensor([[rank - 1.0]]))
    hvd.remove_process_set(pair)


def test_init_registers_sets_and_leaving_forgets_them(size):
    hvd.shutdown()
    first, second = hvd.ProcessSet([0]), hvd.ProcessSet([size - 1, 0][:max(1, size - 1)])
    given = [first, second] if size > 2 else [first] if size == 2 else []
    hvd.init(process_sets=given)
    assert [each.process_set_id for each in given] == list(range(1, len(given) + 1))
    hvd.shutdown()
    assert [each.process_set_id for each in given] == [None] * len(given)
    if size > 1:
        with pytest.raises(ValueError, match="has the ranks"):
            hvd.init(process_sets=[hvd.ProcessSet([0]), hvd.ProcessSet([0])])
        assert not hvd.is_initialized()
    with pytest.raises(ValueError, match="give a list of ProcessSet"):
        hvd.init(process_sets="static")
    hvd.init(process_sets="dynamic")
    assert hvd.size() == size
