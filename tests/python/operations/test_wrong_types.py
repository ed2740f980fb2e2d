"""Arguments of impossible types: an error that says what to give, before anything is sent."""

import copy

import pytest
import torch

import weir
import weir.torch as hvd

from training import model

TENSOR = torch.ones(4)


@pytest.mark.parametrize("value", ["x", None, 3, [1.0, 2.0]])
@pytest.mark.parametrize("operation", [
    hvd.allreduce, hvd.allreduce_async, hvd.allreduce_, hvd.allgather, hvd.allgather_async,
    hvd.alltoall, hvd.reducescatter, lambda value: hvd.broadcast(value, 0),
    lambda value: hvd.broadcast_(value, 0)])
def test_what_is_no_tensor(operation, value):
    with pytest.raises(TypeError, match="expected a torch.Tensor, got "):
        operation(value)


@pytest.mark.parametrize("operation", [
    hvd.grouped_allreduce, hvd.grouped_allreduce_async, hvd.grouped_allgather,
    hvd.grouped_allgather_async, hvd.grouped_reducescatter, hvd.grouped_reducescatter_async])
def test_what_is_no_list_of_tensors(operation):
    with pytest.raises(TypeError, match="expected a list of tensors, got one Tensor"):
        operation(TENSOR)
    with pytest.raises(TypeError, match="expected a torch.Tensor, got 'x' of type str"):
        operation([TENSOR, "x"])


@pytest.mark.parametrize("wrong", [None, [0, 1], 0])
@pytest.mark.parametrize("operation", [hvd.allreduce, hvd.allgather, hvd.alltoall,
                                       hvd.reducescatter])
def test_what_is_no_process_set(operation, wrong):
    with pytest.raises(TypeError, match="is not a ProcessSet; give what add_process_set returned"):
        operation(TENSOR, process_set=wrong)
    with pytest.raises(TypeError, match="is not a ProcessSet"):
        hvd.barrier(process_set=wrong)


@pytest.mark.parametrize("operation", [hvd.allreduce, hvd.reducescatter,
                                       lambda t, compression: hvd.grouped_allreduce(
                                           [t], compression=compression)])
def test_what_is_no_compression_of_an_operation(operation):
    with pytest.raises(TypeError, match="topk, powersgd and dgc are for DistributedOptimizer"):
        operation(TENSOR, compression=hvd.Compression.dgc(density=0.1))
    with pytest.raises(TypeError, match=r"or a Compressor of your own; got 'fp16'"):
        operation(TENSOR, compression="fp16")


def test_a_root_is_a_number():
    with pytest.raises(ValueError, match="root_rank='0'"):
        hvd.broadcast(TENSOR, "0")
    with pytest.raises(ValueError, match="root_rank=0.0"):
        hvd.broadcast(TENSOR, 0.0)


def test_what_is_no_optimizer():
    with pytest.raises(TypeError, match="wraps a torch.optim.Optimizer, not a Sequential"):
        hvd.DistributedOptimizer(model())
    with pytest.raises(TypeError, match="not a NoneType"):
        hvd.DistributedOptimizer(None)


@pytest.mark.parametrize("op", [hvd.Average, hvd.Adasum])
def test_an_optimizer_is_wrapped_once(op):
    once = hvd.DistributedOptimizer(torch.optim.SGD(model().parameters(), lr=0.1), op=op)
    with pytest.raises(ValueError, match="wrapped already, by DistributedOptimizer or Outer: wrap it once"):
        hvd.DistributedOptimizer(once, op=op)


@pytest.mark.parametrize("wrong, message", [
    ({"backward_passes_per_step": "2"}, "backward_passes_per_step='2': give a whole number"),
    ({"groups": "x"}, "groups should be a non-negative integer or a list"),
    ({"num_groups": -3}, "groups should be a non-negative integer or a list"),
    ({"op": hvd.Sum, "compression": hvd.Compression.dgc(density=0.1)},
     "compressed by 'dgc' are averaged: leave op out")])
def test_arguments_of_an_optimizer(wrong, message):
    with pytest.raises(ValueError, match=message):
        hvd.DistributedOptimizer(torch.optim.SGD(model().parameters(), lr=0.1), **wrong)


def test_parameters_are_no_model():
    with pytest.raises(ValueError, match="invalid params of type int: give model.state_dict"):
        hvd.broadcast_parameters(5, 0)
    with pytest.raises(ValueError, match="invalid params of type Sequential: give model.state_dict"):
        hvd.broadcast_parameters(model(), 0)


def test_a_function_is_called():
    with pytest.raises(TypeError, match="weir.run needs a function, not 'x'"):
        weir.run("x", np=1)


def test_steps_may_be_a_whole_float():
    assert hvd.Compression.dgc(warmup_steps=8.0)["warmup_steps"] == "8"


def test_the_predivision_changes_no_average_of_selected_gradients(rank):
    """Horovod's programs give it with any compression."""
    found = []
    for factor in (1.0, 4.0):
        torch.manual_seed(7)
        network = model()
        optimizer = hvd.DistributedOptimizer(
            torch.optim.SGD(network.parameters(), lr=0.1, momentum=0.9),
            named_parameters=network.named_parameters(), gradient_predivide_factor=factor,
            compression=hvd.Compression.dgc(density=0.1, min_elements=0))
        for step in range(3):
            optimizer.zero_grad()
            shape = next(network.parameters()).shape
            (network(torch.full((2, shape[1]), float(rank + step))) ** 2).sum().backward()
            optimizer.step()
        found.append(torch.cat([p.detach().flatten() for p in network.parameters()]))
    assert torch.equal(*found)


def test_the_device_of_join_is_a_number():
    with pytest.raises(TypeError):
        hvd.join("cpu")


@pytest.mark.parametrize("call", [
    lambda: hvd.allreduce(TENSOR, prescale_factor="2"),
    lambda: hvd.allreduce(TENSOR, postscale_factor=None),
    lambda: hvd.grouped_allreduce([TENSOR], prescale_factor="2"),
    lambda: hvd.reducescatter(TENSOR, prescale_factor="2"),
    lambda: hvd.grouped_reducescatter([TENSOR], postscale_factor="2"),
    lambda: hvd.remove_process_set(1), lambda: hvd.start_timeline(3),
    lambda: weir.run(print, np="2")])
def test_arguments_of_other_types(call):
    with pytest.raises(TypeError) as raised:
        call()
    assert "incompatible function arguments" not in str(raised.value)


def test_what_cannot_be_all_ranks():
    with pytest.raises(ValueError, match=r"init\(comm='0,1'\): give all ranks of the job"):
        hvd.init(comm="0,1")


@pytest.mark.parametrize("factor", [0.0, -1.0])
def test_a_predivision_by_nothing(factor):
    optimizer = torch.optim.SGD(model().parameters(), lr=0.1)
    with pytest.raises(ValueError, match="give a number above 0"):
        hvd.DistributedOptimizer(optimizer, gradient_predivide_factor=factor)


def test_an_optimizer_is_not_copied():
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model().parameters(), lr=0.1))
    with pytest.raises(TypeError, match="Copy the model"):
        copy.deepcopy(optimizer)
