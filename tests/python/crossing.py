"""Training with cross_barrier=True, for its tests."""

import gc
import warnings

import pytest
import torch

import weir.torch as hvd

from compared import noise

CAN_CROSS = hasattr(torch.nn.Module, "register_state_dict_pre_hook")  # From PyTorch 2 on.
needs_pytorch_2 = pytest.mark.skipif(not CAN_CROSS, reason="needs PyTorch 2")


@pytest.fixture(autouse=True)
def no_watch_is_left():
    yield
    gc.collect()
    assert torch._C._len_torch_function_stack() == 0


def wrapped(optimizer, model, compression=hvd.Compression.none, cross_barrier=True, **arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # What is taken over from the optimizer.
        return hvd.DistributedOptimizer(optimizer, model.named_parameters(), compression,
                                        cross_barrier=cross_barrier, **arguments)


def take_step(model, optimizer, step, passes=1):
    optimizer.zero_grad()
    for part in range(passes):
        model(noise(hvd.rank(), 10 * step + part, 8, 6)).square().mean().backward()
    optimizer.step()


def waiting(model, optimizer):
    """The parameters whose updates are under way, or not applied. Reading one would apply its update."""
    return [name for name, parameter in model.named_parameters() if parameter in optimizer._weir_late]
