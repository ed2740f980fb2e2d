"""A program's own Compressor, in DistributedOptimizer and in single operations."""

import pathlib
import runpy

import pytest
import torch

import weir.torch as hvd

from training import assert_replicas_are_equal, loss_of, model, weights


class Halved(hvd.Compressor):
    """Sends half of the tensor: exact, so that training is as without."""

    @staticmethod
    def compress(tensor):
        return tensor / 2, 2

    @staticmethod
    def decompress(tensor, ctx):
        return tensor * ctx


class FirstHalf(hvd.Compressor):
    """Sends only the first half of the entries: another shape, and not contiguous."""

    @staticmethod
    def compress(tensor):
        return tensor.flatten()[::2], tensor.shape

    @staticmethod
    def decompress(tensor, ctx):
        full = torch.zeros(ctx.numel(), dtype=tensor.dtype)
        full[::2] = tensor
        return full.view(ctx)


class WholeNumbers(hvd.Compressor):
    """Sends entries as numbers of thousandths, of another type."""

    @staticmethod
    def compress(tensor):
        return (tensor * 1000).round().to(torch.int32), tensor.dtype

    @staticmethod
    def decompress(tensor, ctx):
        return tensor.to(ctx) / 1000


class Counting:
    """An object in place of a class; counts its calls."""

    def __init__(self):
        self.given = []

    def compress(self, tensor):
        self.given.append(tensor.clone())
        return Halved.compress(tensor)

    def decompress(self, tensor, ctx):
        return Halved.decompress(tensor, ctx)


OWN = [Halved, FirstHalf, WholeNumbers]


def gradient_of(step, rank, dtype=torch.float32):
    generator = torch.Generator().manual_seed(1000 * step + rank)
    return torch.randint(-40, 40, (6, 5), generator=generator).to(dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("own, op, predivide", [
    (Halved, hvd.Average, 1.0), (Halved, hvd.Average, 2.0), (Halved, hvd.Sum, 1.0),
    (FirstHalf, hvd.Average, 1.0), (FirstHalf, hvd.Average, 2.0), (FirstHalf, hvd.Sum, 1.0),
    (WholeNumbers, hvd.Average, 1.0), (WholeNumbers, hvd.Sum, 1.0),
    (WholeNumbers, hvd.Average, 3.0)])  # Thirds of whole numbers are cut off.
def test_what_travels_is_combined_and_decompressed(rank, size, own, op, predivide, dtype):
    parameter = torch.nn.Parameter(torch.zeros(6, 5, dtype=dtype))
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD([parameter], lr=1.0), op=op,
                                         gradient_predivide_factor=predivide, compression=own)
    for step in range(3):
        gradient = gradient_of(step, rank, dtype)
        sent, ctx = own.compress(gradient)
        combined = hvd.allreduce(sent.contiguous(), op=op, prescale_factor=1 / predivide,
                                 postscale_factor=predivide)
        expected = own.decompress(combined, ctx)
        parameter.grad = None
        parameter.backward(gradient.clone())
        optimizer.synchronize()
        torch.testing.assert_close(parameter.grad, expected)
        with optimizer.skip_synchronize():
            optimizer.step()
    if own is Halved and op == hvd.Sum:
        total = sum(gradient_of(2, r, dtype) for r in range(size))
        torch.testing.assert_close(expected, total)


@pytest.mark.parametrize("passes", [1, 3])
def test_training_equals_that_without_where_nothing_is_lost(rank, passes):
    nets, counting = [model(), model()], Counting()
    for net, compression in zip(nets, [hvd.Compression.none, counting]):
        optimizer = hvd.DistributedOptimizer(
            torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-3),
            net.named_parameters(), compression, backward_passes_per_step=passes)
        for step in range(4):
            optimizer.zero_grad()
            for part in range(passes):
                loss_of(net, 10 * step + part, rank).backward()
            optimizer.synchronize()
            torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            with optimizer.skip_synchronize():
                optimizer.step()
    torch.testing.assert_close(weights(nets[1]), weights(nets[0]))
    assert_replicas_are_equal(nets[1])
    assert len(counting.given) == 4 * len(list(nets[0].parameters()))  # Once a step.


def test_gradients_are_held_back_until_the_step(rank):
    counting, net = Counting(), model()
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(net.parameters(), lr=0.1),
                                         net.named_parameters(), counting)
    for step in range(2):
        counting.given.clear()
        optimizer.zero_grad()
        loss_of(net, step, rank).backward()
        # They are held back: what the program's code has seen could not be dropped.
        assert not counting.given
        optimizer.step()
        assert len(counting.given) == 4


def test_misuse_is_named_as_always():
    net = model()
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(net.parameters(), lr=0.1),
                                         net.named_parameters(), Halved, groups=2)
    loss_of(net, 0, 0).backward()
    optimizer.synchronize()
    with pytest.warns(UserWarning, match="called without optimizer.skip_synchronize"):
        optimizer.step()


def test_a_parameter_unused_on_some_ranks_gets_the_others_part(rank, size):
    used, unused = torch.nn.Parameter(torch.ones(3)), torch.nn.Parameter(torch.ones(3))
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD([used, unused], lr=1.0),
                                         compression=Halved)
    (used.sum() + (unused.sum() if rank == 0 else 0)).backward()
    optimizer.step()
    torch.testing.assert_close(unused.detach(), torch.full((3,), 1 - 1 / size))


@pytest.mark.parametrize("as_dense", [False, True])
def test_sparse_gradients_are_compressed_as_dense_ones_alone(rank, size, as_dense):
    counting = Counting()
    words, out = torch.nn.Embedding(10, 2, sparse=True), torch.nn.Linear(2, 1)
    parameters = [words.weight, *out.parameters()]
    with torch.no_grad():
        for parameter in parameters:
            parameter.fill_(0.5)
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(parameters, lr=0.1),
                                         sparse_as_dense=as_dense, compression=counting)
    for _ in range(2):
        optimizer.zero_grad(set_to_none=True)
        out(words(torch.tensor([rank, 9]))).sum().backward()
        optimizer.step()
    assert words.weight.grad.is_sparse != as_dense
    shapes = {tuple(gradient.shape) for gradient in counting.given}
    assert ((10, 2) in shapes) == as_dense and {(1, 2), (1,)} <= shapes
    assert_replicas_are_equal(torch.nn.ParameterList(parameters))
    rows = torch.unique((words.weight.detach() != 0.5).nonzero()[:, 0])
    assert rows.tolist() == [*range(size), 9]


def test_a_process_set_trains_together(rank, size):
    if size < 2:
        pytest.skip("a set of some needs others")
    some = hvd.add_process_set(range(1, size))
    try:
        parameter = torch.nn.Parameter(torch.zeros(4))
        optimizer = hvd.DistributedOptimizer(torch.optim.SGD([parameter], lr=1.0), op=hvd.Sum,
                                             compression=Halved, process_set=some)
        (parameter * (rank + 1.0)).sum().backward()
        optimizer.step()
        expected = sum(r + 1 for r in range(1, size)) if rank else 1
        assert torch.equal(parameter.detach(), torch.full((4,), -float(expected)))
        del optimizer
    finally:
        hvd.remove_process_set(some)


def test_it_comes_before_the_default_of_the_environment(rank, size, monkeypatch):
    monkeypatch.setenv("WEIR_COMPRESSION", "compressor=dgc,density=0.1,min_elements=0")
    hvd.shutdown()
    hvd.init()
    try:
        parameter = torch.nn.Parameter(torch.zeros(50))
        optimizer = hvd.DistributedOptimizer(torch.optim.SGD([parameter], lr=1.0, momentum=0.5),
                                             compression=Halved)
        for _ in range(2):
            optimizer.zero_grad()
            parameter.backward(torch.ones(50))
            optimizer.step()
        assert torch.equal(parameter.detach(), -torch.full((50,), 2.5))  # The momentum is SGD's.
        del optimizer
    finally:
        monkeypatch.undo()
        hvd.shutdown()
        hvd.init()


def test_its_state_is_saved_and_goes_on_in_the_next_job(rank):
    net = model()
    optimizer = hvd.DistributedOptimizer(
        torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9), net.named_parameters(), Halved)
    for step in range(4):
        if step == 2:
            state = optimizer.state_dict()
            hvd.shutdown()
            hvd.init()
            optimizer.load_state_dict(state)
        optimizer.zero_grad()
        loss_of(net, step, rank).backward()
        optimizer.step()
    assert_replicas_are_equal(net)


def test_a_result_of_another_shape_is_named_and_changes_nothing(rank, size):
    class Lost(Halved):
        @staticmethod
        def decompress(tensor, ctx):
            return tensor[:1]  # Would fit by broadcasting.

    parameter = torch.nn.Parameter(torch.zeros(4, 2))
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD([parameter], lr=1.0),
                                         [("weight", parameter)], Lost)
    parameter.sum().backward()
    with pytest.raises(ValueError, match=r"Lost.decompress made \[1, 2\] of the gradient of "
                                         r"'weight', whose shape is \[4, 2\]"):
        optimizer.step()
    assert torch.equal(parameter.grad, torch.ones(4, 2))
    assert hvd.allreduce(torch.ones(1), op=hvd.Sum) == size


@pytest.mark.parametrize("method, returned, says", [
    ("compress", None, "Odd.compress has to return a tensor and what decompress needs; of the "
                       "gradient of 'weight' it made None"),
    ("compress", (torch.ones(2), 1, 2), "of the gradient of 'weight' it made .tensor"),
    ("compress", ("text", None), "of the gradient of 'weight' it made .'text'"),
    ("decompress", None, "Odd.decompress has to return a tensor; of the gradient of 'weight' it "
                         "made None")])
def test_what_is_no_result_is_named(size, method, returned, says):
    kind = type("Odd", (Halved,), {method: staticmethod(lambda *_: returned)})
    parameter = torch.nn.Parameter(torch.zeros(4, 2))
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD([parameter], lr=1.0),
                                         [("weight", parameter)], kind)
    with pytest.raises(TypeError, match=says):
        parameter.sum().backward()
        optimizer.step()
    assert hvd.allreduce(torch.ones(1), op=hvd.Sum) == size


def test_names_stay_with_their_parameters_beside_sparse_ones(rank, size):
    class Short(Halved):
        @staticmethod
        def decompress(tensor, ctx):
            return tensor[:, :1] if tensor.dim() == 2 else tensor

    words, out = torch.nn.Embedding(10, 2, sparse=True), torch.nn.Linear(2, 1)
    optimizer = hvd.DistributedOptimizer(
        torch.optim.SGD([words.weight, *out.parameters()], lr=0.1),
        [("words", words.weight), ("matrix", out.weight), ("bias", out.bias)], Short)
    out(words(torch.tensor([rank]))).sum().backward()
    with pytest.raises(ValueError, match="of the gradient of 'matrix'"):
        optimizer.step()
    assert hvd.allreduce(torch.ones(1), op=hvd.Sum) == size


def test_a_class_below_one_of_weirs_is_asked_too(rank):
    class Louder(hvd.Compression.fp16):
        seen = []

        @classmethod
        def compress(cls, tensor):
            cls.seen.append(tensor.shape)
            return super().compress(tensor)

    parameter = torch.nn.Parameter(torch.zeros(3))
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD([parameter], lr=1.0), compression=Louder)
    parameter.sum().backward()
    optimizer.step()
    assert Louder.seen == [(3,)] and torch.equal(parameter.detach(), -torch.ones(3))


def test_the_moves_of_adasum_are_compressed(rank):
    counting, parameter = Counting(), torch.nn.Parameter(torch.zeros(3))
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD([parameter], lr=1.0), op=hvd.Adasum,
                                         compression=counting)
    parameter.sum().backward()
    optimizer.step()
    assert torch.equal(counting.given[0], -torch.ones(3))
    torch.testing.assert_close(parameter.detach(), -torch.ones(3))  # Equal moves stay as they are.


def test_moves_that_lie_apart_in_memory_are_put_in_order(rank):
    parameter = torch.nn.Parameter(torch.zeros(4))
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD([parameter], lr=1.0), op=hvd.Adasum,
                                         compression=FirstHalf)
    parameter.sum().backward()
    optimizer.step()
    torch.testing.assert_close(parameter.detach(), torch.tensor([-1.0, 0.0, -1.0, 0.0]))


@pytest.mark.parametrize("own", OWN)
def test_single_operations_take_one(rank, size, own):
    tensors = [gradient_of(step, rank) for step in range(2)]
    sums = [sum(gradient_of(step, r) for r in range(size)) for step in range(2)]
    expected = [own.decompress(*own.compress(each)) for each in sums]
    torch.testing.assert_close(hvd.allreduce(tensors[0], compression=own, op=hvd.Sum), expected[0])
    found = hvd.grouped_allreduce(tensors, compression=own, op=hvd.Sum)
    for one, other in zip(found, expected):
        torch.testing.assert_close(one, other)


def test_the_example_of_the_documentation_learns():
    program = pathlib.Path(__file__).parents[1] / "programs" / "own_compressor.py"
    torch.manual_seed(hvd.rank())
    found = runpy.run_path(str(program))
    assert found["loss"] < 0.1
    assert_replicas_are_equal(found["model"])
