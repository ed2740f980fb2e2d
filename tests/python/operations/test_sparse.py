"""Sparse tensors and sparse gradients, against the same thing dense."""

import copy
import io

import pytest
import torch

import weir.torch as hvd

ROWS, WIDTH = 20, 3


def sparse_of(rank, dtype=torch.float32):
    """Rank r has r entries, some of them twice."""
    generator = torch.Generator().manual_seed(50 + rank)
    rows = torch.randint(0, ROWS, (1, 2 * rank), generator=generator)
    values = torch.randint(-9, 9, (2 * rank, WIDTH), generator=generator).to(dtype)
    return torch.sparse_coo_tensor(rows, values, (ROWS, WIDTH))


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64, torch.int64])
@pytest.mark.parametrize("op", [hvd.Sum, hvd.Average])
def test_sparse_allreduce(rank, size, op, dtype):
    wait = hvd.sparse_allreduce_async(sparse_of(rank, dtype), name="sparse", op=op)
    assert callable(wait)
    found = wait()
    assert found.is_sparse and found.dtype == dtype and found.shape == (ROWS, WIDTH)
    total = sum(sparse_of(r, torch.float64).to_dense() for r in range(size))
    if op == hvd.Sum:
        assert torch.equal(found.to_dense(), total.to(dtype))
    elif dtype.is_floating_point:
        torch.testing.assert_close(found.to_dense(), (total / size).to(dtype), rtol=2e-3, atol=2e-3)


def test_sparse_allreduce_of_two_sparse_dimensions_and_scalars_in_them(rank, size):
    tensor = torch.sparse_coo_tensor([[rank, 0], [1, 0]], [1.0, 2.0], (size, 2))
    found = hvd.sparse_allreduce_async(tensor, op=hvd.Sum)().to_dense()
    expected = torch.zeros(size, 2)
    expected[:, 1] = 1.0
    expected[0, 0] = 2.0 * size
    assert torch.equal(found, expected)


def test_what_cannot_be_reduced():
    with pytest.raises(ValueError, match="layout torch.strided: give a sparse COO one"):
        hvd.sparse_allreduce_async(torch.ones(2), "bad", hvd.Sum)
    with pytest.raises(ValueError, match="op=Max: sparse tensors are combined by Average or Sum"):
        hvd.sparse_allreduce_async(sparse_of(1), "bad", hvd.Max)
    with pytest.raises(ValueError, match="Tensor type .* is not supported"):
        hvd.sparse_allreduce_async(sparse_of(1, torch.uint8), "bad", hvd.Sum)


def test_ranks_whose_tensors_differ_in_shape_are_told(rank, size):
    if size == 1:
        pytest.skip("nobody to disagree with")
    tensor = torch.sparse_coo_tensor([[0]], torch.ones(1, 2 + rank), (4, 2 + rank))
    wait = hvd.sparse_allreduce_async(tensor, "bad", hvd.Sum)
    with pytest.raises(hvd.Mismatch, match=r"Mismatched SPARSE_ALLREDUCE tensor shapes: .*\(tensor "
                                           r"'sparse_allreduce.bad': rank 0 has \[4, 2\], rank 1 has"):
        wait()
    assert hvd.allreduce(torch.ones(1), op=hvd.Sum) == size


# --- DistributedOptimizer ---


class Words(torch.nn.Module):
    """The mean of some words' vectors, classified. `extra` is used by rank 0 alone."""

    def __init__(self, sparse):
        super().__init__()
        torch.manual_seed(11)
        self.words = torch.nn.Embedding(ROWS, 8, sparse=sparse)
        self.extra = torch.nn.Embedding(ROWS, 8, sparse=sparse)
        self.out = torch.nn.Linear(8, 40)

    def forward(self, words, rank):
        hidden = self.words(words).mean(1)
        if rank == 0:
            hidden = hidden + self.extra(words[:, 0])
        return self.out(hidden)


def loss_of(net, step, rank):
    generator = torch.Generator().manual_seed(100 * step + rank)
    words = torch.randint(0, ROWS, (2 + rank, 4), generator=generator)  # More words, more rows.
    labels = torch.randint(0, 40, (2 + rank,), generator=generator)
    return torch.nn.functional.cross_entropy(net(words, rank), labels)


def train(net, optimizer, steps, rank):
    for step in steps:
        optimizer.zero_grad()
        loss_of(net, step, rank).backward()
        optimizer.step()


OPTIMIZERS = {
    "SGD": lambda p: torch.optim.SGD(p, lr=0.5),
    "SGD with momentum": lambda p: torch.optim.SGD(p, lr=0.5, momentum=0.9),
    "Adagrad": lambda p: torch.optim.Adagrad(p, lr=0.1),
}


@pytest.mark.parametrize("predivide", [1.0, 2.0])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_an_embedding_trains_equal_to_a_dense_one(rank, size, name, predivide):
    nets = {sparse: Words(sparse) for sparse in (False, True)}
    for net in nets.values():
        optimizer = hvd.DistributedOptimizer(OPTIMIZERS[name](net.parameters()),
                                             net.named_parameters(),
                                             gradient_predivide_factor=predivide)
        train(net, optimizer, range(6), rank)
    assert nets[True].words.weight.grad.is_sparse
    for (label, sparse), dense in zip(nets[True].named_parameters(), nets[False].parameters()):
        torch.testing.assert_close(sparse, dense, rtol=1e-4, atol=1e-6, msg=label)
    weight = nets[True].words.weight.detach()
    assert torch.equal(hvd.broadcast(weight, 0), weight), "replicas differ"


def test_sparse_as_dense(rank):
    nets = {sparse: Words(sparse) for sparse in (False, True)}
    for net in nets.values():
        train(net, hvd.DistributedOptimizer(torch.optim.SGD(net.parameters(), lr=0.5, momentum=0.9),
                                            net.named_parameters(), sparse_as_dense=True),
              range(4), rank)
    assert not nets[True].words.weight.grad.is_sparse
    assert all(torch.equal(a, b) for a, b in zip(nets[True].parameters(),
                                                 nets[False].parameters()))


def groups_of(net):
    return [{"params": list(net.out.parameters()), "momentum": 0.9},
            {"params": [net.words.weight, net.extra.weight], "momentum": 0.0}]


def test_embeddings_beside_compressed_gradients_resume_bit_for_bit(rank):
    def made():
        net = Words(sparse=True)
        return net, hvd.DistributedOptimizer(
            torch.optim.SGD(groups_of(net), lr=0.1),
            compression=hvd.Compression.dgc(density=0.1, min_elements=0))

    net, optimizer = made()
    train(net, optimizer, range(4), rank)
    file = io.BytesIO()
    torch.save(optimizer.state_dict(), file)
    weights = copy.deepcopy(net.state_dict())
    train(net, optimizer, range(4, 8), rank)

    again, resumed = made()
    again.load_state_dict(weights)
    file.seek(0)
    safely = not torch.__version__.startswith("1.")  # That one read not even its own state so.
    resumed.load_state_dict(torch.load(file, weights_only=safely))
    train(again, resumed, range(4, 8), rank)
    assert all(torch.equal(a, b) for a, b in zip(net.parameters(), again.parameters()))


def test_a_sparse_gradient_whose_momentum_was_taken_over_is_refused_everywhere(rank, size):
    net = Words(sparse=True)
    optimizer = hvd.DistributedOptimizer(
        torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9), net.named_parameters(),
        hvd.Compression.dgc(density=0.1))
    with pytest.raises(ValueError, match="'words.weight' is sparse, and Weir has taken momentum"):
        loss_of(net, 0, rank).backward()
    assert hvd.allreduce(torch.ones(1), op=hvd.Sum) == size


def test_a_gradient_that_turns_sparse_later_is_refused():
    parameter = torch.nn.Parameter(torch.ones(4, 2))
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD([parameter], lr=0.1))
    parameter.sum().backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    with pytest.raises(ValueError, match="was dense in its first step"):
        torch.nn.functional.embedding(torch.tensor([1]), parameter, sparse=True).sum().backward()
        optimizer.step()


def test_sparse_adam_takes_the_averaged_rows(rank, size):
    torch.manual_seed(3)
    mine = torch.nn.Embedding(ROWS, WIDTH, sparse=True)
    alone = copy.deepcopy(mine)
    optimizer = hvd.DistributedOptimizer(torch.optim.SparseAdam(list(mine.parameters()), lr=0.1))
    reference = torch.optim.SparseAdam(list(alone.parameters()), lr=0.1)
    for step in range(4):
        words = [torch.tensor([(3 * r + step) % ROWS, r % 2]) for r in range(size)]
        optimizer.zero_grad()
        mine(words[rank]).pow(2).sum().backward()
        optimizer.step()
        reference.zero_grad()
        (sum(alone(each).pow(2).sum() for each in words) / size).backward()
        reference.step()
    torch.testing.assert_close(mine.weight, alone.weight)
