"""SyncBatchNorm on every rank's part against torch's batch normalisation of the whole batch."""

import copy

import pytest
import torch

import weir.torch as hvd

CHANNELS = 3
PLAIN = {2: torch.nn.BatchNorm1d, 3: torch.nn.BatchNorm1d, 4: torch.nn.BatchNorm2d,
         5: torch.nn.BatchNorm3d}


def part(rank, dims, dtype, step=0):
    """Rank r has r + 2 samples, far from zero."""
    generator = torch.Generator().manual_seed(10 * step + rank)
    shape = [rank + 2, CHANNELS, 4, 3, 2][:dims]
    return (torch.randn(shape, generator=generator, dtype=torch.float64) * 2 + 5).to(dtype)


def pair(dims, dtype, **arguments):
    """The plain module and the one under test, with equal parameters."""
    plain = PLAIN[dims](CHANNELS, **arguments).to(dtype)
    if plain.affine:
        with torch.no_grad():
            plain.weight.copy_(torch.tensor([0.5, -1.0, 2.0]))
            plain.bias.copy_(torch.tensor([0.1, 0.2, 0.3]))
    module = hvd.SyncBatchNorm(CHANNELS, **arguments).to(dtype)
    module.load_state_dict(plain.state_dict())
    return plain, module


def check(plain, module, parts, rank, tolerance):
    """One forward and backward pass of both; parts are all ranks' inputs."""
    whole = torch.cat(parts).requires_grad_()
    mine = parts[rank].clone().requires_grad_()
    expected, found = plain(whole), module(mine)
    weights = torch.randn(expected.shape, generator=torch.Generator().manual_seed(5)).to(whole.dtype)
    (expected.square() * weights).sum().backward()
    sizes = [len(p) for p in parts]
    (found.square() * weights.split(sizes)[rank]).sum().backward()
    torch.testing.assert_close(found, expected.split(sizes)[rank], **tolerance)
    torch.testing.assert_close(mine.grad, whole.grad.split(sizes)[rank], **tolerance)
    for (name, parameter), other in zip(plain.named_parameters(), module.parameters()):
        torch.testing.assert_close(hvd.allreduce(other.grad, op=hvd.Sum), parameter.grad,
                                   msg=name, **tolerance)
    for (name, buffer), other in zip(plain.named_buffers(), module.buffers()):
        torch.testing.assert_close(other, buffer, msg=name, **tolerance)
        assert torch.equal(hvd.broadcast(other, 0), other), f"{name} differs over ranks"


FP64 = {"rtol": 1e-10, "atol": 1e-10}
FP32 = {"rtol": 1e-4, "atol": 1e-4}


@pytest.mark.parametrize("dims", sorted(PLAIN))
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_equals_batch_norm_of_the_whole_batch(rank, size, dims, dtype):
    plain, module = pair(dims, dtype)
    assert isinstance(module, torch.nn.modules.batchnorm._BatchNorm)
    for step in range(3):
        plain.zero_grad()
        module.zero_grad()
        check(plain, module, [part(r, dims, dtype, step) for r in range(size)], rank,
              FP64 if dtype == torch.float64 else FP32)


@pytest.mark.parametrize("arguments", [
    {"affine": False}, {"momentum": None}, {"momentum": 0.5, "eps": 0.1},
    {"track_running_stats": False}, {"affine": False, "track_running_stats": False}], ids=str)
def test_arguments(rank, size, arguments):
    plain, module = pair(4, torch.float64, **arguments)
    for step in range(3):
        plain.zero_grad()
        module.zero_grad()
        check(plain, module, [part(r, 4, torch.float64, step) for r in range(size)], rank, FP64)


def test_a_rank_without_samples(rank, size):
    plain, module = pair(2, torch.float64)
    parts = [part(r, 2, torch.float64) if r == 0 else torch.empty(0, CHANNELS, dtype=torch.float64)
             for r in range(size)]
    check(plain, module, parts, rank, FP64)


def test_layers_in_a_row_and_a_layout_with_the_channels_last(rank, size):
    torch.manual_seed(2)
    plain = torch.nn.Sequential(
        torch.nn.Conv2d(CHANNELS, 4, 1), torch.nn.BatchNorm2d(4), torch.nn.ReLU(),
        torch.nn.BatchNorm2d(4)).double()
    module = copy.deepcopy(plain)
    module[1], module[3] = hvd.SyncBatchNorm(4).double(), hvd.SyncBatchNorm(4).double()
    parts = [part(r, 4, torch.float64).to(memory_format=torch.channels_last) for r in range(size)]
    check(plain, module, parts, rank, FP64)


def test_evaluation_uses_what_training_found_and_asks_nobody(rank, size):
    plain, module = pair(4, torch.float64)
    check(plain, module, [part(r, 4, torch.float64) for r in range(size)], rank, FP64)
    plain.eval()
    module.eval()
    if rank == 0:  # Alone.
        mine = part(0, 4, torch.float64)
        torch.testing.assert_close(module(mine), plain(mine), **FP64)


def test_half_inputs_are_summed_in_fp32(rank, size):
    module = hvd.SyncBatchNorm(CHANNELS)
    found = module(part(rank, 4, torch.bfloat16))
    assert found.dtype == torch.bfloat16
    whole = torch.nn.BatchNorm2d(CHANNELS)(
        torch.cat([part(r, 4, torch.bfloat16).float() for r in range(size)]))
    torch.testing.assert_close(found.float(), whole.split([r + 2 for r in range(size)])[rank],
                               rtol=1e-2, atol=1e-2)


def test_inputs_that_cannot_be(rank, size):
    module = hvd.SyncBatchNorm(CHANNELS)
    if size == 1:
        pytest.skip("plain batch normalisation says what is wrong")
    with pytest.raises(ValueError, match=r"at least 2D input \(got 1D input\)"):
        module(torch.ones(CHANNELS))
    with pytest.raises(ValueError, match="has 4 channels, the module num_features=3"):
        module(torch.ones(2, 4))
    with pytest.raises(ValueError, match="1 on all ranks together"):
        module(torch.ones(1 if rank == 0 else 0, CHANNELS))
