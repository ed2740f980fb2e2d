"""Tensors of CUDA devices: on a GPU if there is one, and on the emulated one (tests/emulated_gpu/),
which WEIR_GPU_LIBRARY names. Its memory is the CPU's, so tensors need only claim to be there."""

import gc
import os

import pytest
import torch

import weir.torch as hvd
from weir.torch._ops import engine_tensors


@pytest.fixture(params=["emulated", pytest.param("cuda", marks=pytest.mark.gpu)])
def on_gpu(request, monkeypatch):
    """Brings a tensor of the CPU to the GPU."""
    if request.param == "cuda":
        if not torch.cuda.is_available():
            pytest.skip("PyTorch finds no GPU here")
        return lambda tensor: tensor.to("cuda")
    if "WEIR_GPU_LIBRARY" not in os.environ:
        pytest.skip("WEIR_GPU_LIBRARY names no emulated GPU")
    monkeypatch.setattr(engine_tensors, "place_of", lambda tensor: (0, 0))
    return lambda tensor: tensor.clone()


def numbers(shape, dtype=torch.float32, step=0):
    """Returns this rank's numbers."""
    count = torch.Size(shape).numel()
    values = (torch.arange(count) * 7 + hvd.rank() * 3 + step * 5) % 11
    return values.reshape(shape).to(dtype)


def same(found, expected):
    assert found.dtype == expected.dtype
    assert torch.equal(found.cpu(), expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.int64])
def test_allreduce(on_gpu, dtype, size):
    tensor = on_gpu(numbers((5, 7), dtype))
    expected = sum((((torch.arange(35) * 7 + rank * 3) % 11).reshape(5, 7).to(dtype)
                    for rank in range(size)), torch.zeros(5, 7, dtype=dtype))
    same(hvd.allreduce(tensor, op=hvd.Sum), expected)
    hvd.allreduce_(tensor, op=hvd.Sum)
    same(tensor, expected)


def test_results_lie_where_inputs_do(on_gpu, size):
    tensor = on_gpu(numbers((2 * size, 3)))
    for result in (hvd.allreduce(tensor), hvd.allgather(tensor), hvd.alltoall(tensor),
                   hvd.reducescatter(tensor), hvd.broadcast(tensor, 0),
                   *hvd.grouped_allreduce([tensor]), *hvd.grouped_allgather([tensor]),
                   *hvd.grouped_reducescatter([tensor])):
        assert result.device == tensor.device


def test_results_of_other_sizes(on_gpu, rank, size):
    whole = torch.cat([torch.full((r + 1, 2), float(r)) for r in range(size)])
    same(hvd.allgather(on_gpu(torch.full((rank + 1, 2), float(rank)))), whole)
    one_each = torch.ones(size, dtype=torch.int32)
    received, splits = hvd.alltoall(on_gpu(torch.full((size, 2), float(rank))), one_each)
    same(received, torch.arange(size).float().unsqueeze(1).expand(size, 2))
    assert splits.tolist() == [1] * size
    same(hvd.reducescatter(on_gpu(torch.ones(size, 3)), op=hvd.Sum), torch.full((1, 3), float(size)))
    entries = torch.sparse_coo_tensor([[rank]], [[1.0, 2.0]], (size, 2), check_invariants=True)
    wait = hvd.sparse_allreduce_async(on_gpu(entries), op=hvd.Sum)
    assert torch.equal(wait().to_dense().cpu(), torch.tensor([[1.0, 2.0]] * size))


def test_results_of_other_sizes_are_made_by_pytorch(on_gpu, rank, monkeypatch):
    made = []
    maker_for = engine_tensors.maker_for

    def counted(tensor):
        make = maker_for(tensor)
        return lambda shape: made.append(make(shape)) or made[-1]

    monkeypatch.setattr(engine_tensors, "maker_for", counted)
    tensor = on_gpu(torch.full((rank, 3), 1.5))  # Rank 0 has no rows.
    results = [hvd.allgather(tensor), *hvd.grouped_allgather([tensor, tensor[:, :1].contiguous()])]
    assert [result.data_ptr() for result in results] == [one.data_ptr() for one in made]
    assert [tuple(one.shape) for one in made] == [tuple(result.shape) for result in results]


def test_while_pytorch_makes_a_result_nothing_is_collected(on_gpu, rank, monkeypatch):
    # Garbage may wait for the engine, whose thread this is.
    collects = []
    maker_for = engine_tensors.maker_for

    def noted(tensor):
        make = maker_for(tensor)
        return lambda shape: collects.append(gc.isenabled()) or make(shape)

    monkeypatch.setattr(engine_tensors, "maker_for", noted)
    hvd.allgather(on_gpu(torch.ones(rank + 1, 3)))
    assert collects == [False]
    assert gc.isenabled()


def test_many_at_once_while_python_works(on_gpu, rank, size):
    expected = torch.cat([torch.full((r + 1, 40), float(r)) for r in range(size)])
    tensor = on_gpu(torch.full((rank + 1, 40), float(rank)))
    for step in range(5):
        handles = [hvd.allgather_async(tensor, name=f"{step}.{i}") for i in range(20)]
        while not all(hvd.poll(handle) for handle in handles):  # Takes the interpreter.
            pass
        for handle in handles:
            same(hvd.synchronize(handle), expected)


def test_without_memory_an_operation_fails_alone(on_gpu, rank, size, monkeypatch):
    tensor = on_gpu(torch.ones(2, 3))

    def no_memory(shape):
        raise torch.cuda.OutOfMemoryError(f"no room for {tuple(shape)}")

    with monkeypatch.context() as patch:
        if rank == size - 1:
            patch.setattr(engine_tensors, "maker_for", lambda tensor: no_memory)
            with pytest.raises(Exception, match=r"no room for \(%d, 3\)" % (2 * size)):
                hvd.allgather(tensor)
        else:
            hvd.allgather(tensor)
    same(hvd.allgather(tensor), torch.ones(2 * size, 3))


@pytest.mark.parametrize("devices", ["one", "both"])
def test_gradients_of_results_of_other_sizes(on_gpu, devices, rank, size, monkeypatch):
    if devices == "both" and rank == 0:  # The others' are on GPUs.
        monkeypatch.setattr(engine_tensors, "place_of", lambda tensor: engine_tensors.ON_CPU)
        on_gpu = on_cpu
    tensor = on_gpu(torch.full((rank + 1, 2), 1.0)).requires_grad_()
    (hvd.allgather(tensor) * 3.0).sum().backward()
    same(tensor.grad, torch.full((rank + 1, 2), 3.0))
    whole = on_gpu(torch.ones(size, 2)).requires_grad_()
    (hvd.reducescatter(whole, op=hvd.Sum) * (rank + 1.0)).sum().backward()
    assert whole.grad.shape == whole.shape


def test_broadcast(on_gpu, rank, size):
    tensor = on_gpu(torch.full((4,), float(rank)))
    same(hvd.broadcast(tensor, size - 1), torch.full((4,), float(size - 1)))
    model = torch.nn.Linear(3, 2)
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)


def on_cpu(tensor):
    return tensor


def train(place, compression, steps=6):
    """The gradients as each step leaves them. They do not depend on the weights, so that devices
    may differ in how they compute those."""
    torch.manual_seed(5)
    parameters = [torch.nn.Parameter(place(torch.randn(shape))) for shape in ((40, 30), (17,))]
    optimizer = hvd.DistributedOptimizer(
        torch.optim.SGD(parameters, lr=0.1, momentum=0.9),
        named_parameters=[("w", parameters[0]), ("b", parameters[1])], compression=compression)
    seen = []
    for step in range(steps):
        optimizer.zero_grad()
        sum((parameter * place(numbers(parameter.shape, step=step))).sum()
            for parameter in parameters).backward()
        optimizer.synchronize()
        seen.append([parameter.grad.detach().cpu().clone() for parameter in parameters])
        with optimizer.skip_synchronize():
            optimizer.step()
    return seen, optimizer.state_dict()


@pytest.mark.parametrize("compression", [
    hvd.Compression.none, hvd.Compression.fp16, hvd.Compression.dgc(density=0.05, warmup_steps=3),
    hvd.Compression.dgc(density=0.05, momentum_masking=False), hvd.Compression.topk(density=0.1)],
    ids=["none", "fp16", "dgc", "unmasked", "topk"])
def test_training_has_the_bits_of_the_cpu(on_gpu, compression, monkeypatch):
    found, state = train(on_gpu, compression)
    with monkeypatch.context() as patch:
        patch.setattr(engine_tensors, "place_of", lambda tensor: engine_tensors.ON_CPU)
        expected, state_of_cpu = train(on_cpu, compression)
    for step, (gradients, wanted) in enumerate(zip(found, expected)):
        for gradient, one in zip(gradients, wanted):
            assert torch.equal(gradient, one), step
    for kept, wanted in zip(state["weir"]["exchanges"], state_of_cpu["weir"]["exchanges"]):
        assert torch.equal(kept, wanted)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch finds no GPU here")
@pytest.mark.skipif(os.environ.get("WEIR_GPU_TRANSPORT") == "mpi-staged",
                    reason="through the host a step is waited for")
@pytest.mark.parametrize("compression", [hvd.Compression.none, hvd.Compression.dgc(density=0.1)],
                         ids=["none", "dgc"])
def test_a_program_goes_on_while_its_gpu_works(compression):
    parameter = torch.nn.Parameter(torch.ones(1000, device="cuda"))
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD([parameter], lr=1.0),
                                         named_parameters=[("w", parameter)],
                                         compression=compression)
    done = torch.cuda.Event()
    for step in range(3):
        torch.cuda.synchronize()
        optimizer.zero_grad()
        if step > 0:  # In its first step an optimizer finds out what there is to exchange.
            torch.cuda._sleep(1_000_000_000)
        parameter.sum().backward()
        optimizer.step()
        done.record()
        assert step == 0 or not done.query(), "it waited for the GPU"
    assert optimizer.step_report.step == 2
    if compression is hvd.Compression.none:
        assert torch.equal(parameter.detach().cpu(), torch.full((1000,), -2.0))
