"""DistributedOptimizer against the wrapped optimizer on the mean of all ranks' gradients."""

import copy
import warnings

import pytest
import torch

import weir.torch as hvd

from dgc_reference import Reference
from training import assert_replicas_are_equal, loss_of, model, weights


OPTIMIZERS = {
    "SGD": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=1e-3),
    "Adam": lambda p: torch.optim.Adam(p, lr=0.01),
    "AdamW": lambda p: torch.optim.AdamW(p, lr=0.01, amsgrad=True),
    "Adagrad": lambda p: torch.optim.Adagrad(p, lr=0.01),
    "RMSprop": lambda p: torch.optim.RMSprop(p, lr=0.01, momentum=0.9),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_dense_training_equals_training_on_the_mean_gradient(rank, size, name):
    net, alone = model(), model()
    optimizer = hvd.DistributedOptimizer(OPTIMIZERS[name](net.parameters()),
                                         named_parameters=net.named_parameters())
    assert isinstance(optimizer, getattr(torch.optim, name))
    reference = OPTIMIZERS[name](alone.parameters())
    for step in range(5):
        optimizer.zero_grad()
        loss_of(net, step, rank).backward()
        optimizer.step()
        reference.zero_grad()
        (sum(loss_of(alone, step, r) for r in range(size)) / size).backward()
        reference.step()
    torch.testing.assert_close(weights(net), weights(alone), rtol=1e-3, atol=1e-5)
    assert_replicas_are_equal(net)


@pytest.mark.parametrize("op,predivide", [(hvd.Sum, 1.0), (hvd.Average, 4.0)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_gradients_are_summed_or_divided_in_two_parts(rank, size, op, predivide, dtype):
    parameter = torch.nn.Parameter(torch.zeros(3, dtype=dtype))
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD([parameter], lr=1.0), op=op,
                                         gradient_predivide_factor=predivide)
    (parameter * (rank + 1.0)).sum().backward()
    optimizer.synchronize()
    total = size * (size + 1) / 2
    expected = total if op == hvd.Sum else total / size
    assert torch.equal(parameter.grad, torch.full((3,), expected, dtype=dtype))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("compression", [hvd.Compression.none, hvd.Compression.dgc(density=1.0)])
def test_half_gradients(rank, size, dtype, compression):
    parameter = torch.nn.Parameter(torch.zeros(4, dtype=dtype))
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD([parameter], lr=1.0),
                                         compression=compression)
    (parameter * (rank + 1.0)).sum().backward()
    optimizer.step()
    torch.testing.assert_close(parameter.detach(),
                               torch.full((4,), -(size + 1) / 2, dtype=dtype))


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("nesterov", [False, True])
@pytest.mark.parametrize("decay", [0.0, 0.01])
def test_dgc_follows_the_reference_recursion_step_by_step(rank, size, nesterov, decay, masked):
    torch.manual_seed(3)
    parameter = torch.nn.Parameter(torch.randn(64, 32))
    optimizer = hvd.DistributedOptimizer(
        torch.optim.SGD([parameter], lr=0.05, momentum=0.9, nesterov=nesterov,
                        weight_decay=decay),
        compression=hvd.Compression.dgc(density=0.02, min_elements=0, values="fp32",
                                        policy="always", **({"momentum_masking": True} if masked else {})))
    reference = Reference(parameter.numel(), size, density=0.02, momentum=0.9, nesterov=nesterov,
                          decay=decay, masked=masked)
    for step in range(20):
        gradients = [torch.randn(64, 32, generator=torch.Generator().manual_seed(1000 * step + r))
                     for r in range(size)]
        before = parameter.detach().clone()
        parameter.grad = None
        parameter.backward(gradients[rank])
        optimizer.synchronize()
        expected = reference.step([g.flatten().numpy() for g in gradients],
                                  before.flatten().numpy())
        assert torch.equal(parameter.grad.flatten(), torch.from_numpy(expected)), f"step {step}"
        with optimizer.skip_synchronize():
            optimizer.step()
        torch.testing.assert_close(parameter.detach(), before - 0.05 * parameter.grad)
    assert optimizer.param_groups[0]["momentum"] == 0.9


@pytest.mark.parametrize("compression", [
    hvd.Compression.none, hvd.Compression.fp16, hvd.Compression.bf16,
    hvd.Compression.topk(0.05, min_elements=0),
    hvd.Compression.powersgd(2, rampup_begin_step=2, min_elements=0),
    hvd.Compression.dgc(density=0.05, warmup_steps=4, min_elements=0),
    hvd.Compression.dgc(sparsity=[0.5, 0.9], rampup_begin_step=2, rampup_step=4, clip_norm=1.0),
    {"compressor": "dgc", "density": 0.05}])
def test_every_compression_trains_and_replicas_stay_equal(rank, compression):
    net = model()
    optimizer = hvd.DistributedOptimizer(
        torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.5), net.named_parameters(),
        compression)
    first = loss_of(net, 0, rank).item()
    for _ in range(30):
        optimizer.zero_grad()
        loss_of(net, 0, rank).backward()
        optimizer.step()
    assert loss_of(net, 0, rank).item() < 0.8 * first
    assert_replicas_are_equal(net)


def test_backward_passes_are_summed_before_the_exchange(rank, size):
    net, alone = model(), model()
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(net.parameters(), lr=0.1),
                                         net.named_parameters(), backward_passes_per_step=2)
    reference = torch.optim.SGD(alone.parameters(), lr=0.1)
    for step in range(3):
        optimizer.zero_grad()
        reference.zero_grad()
        for part in range(2):
            loss_of(net, 2 * step + part, rank).backward()
            (sum(loss_of(alone, 2 * step + part, r) for r in range(size)) / size).backward()
        optimizer.step()
        reference.step()
    torch.testing.assert_close(weights(net), weights(alone), rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("compression", [hvd.Compression.none, hvd.Compression.dgc(density=0.1)])
def test_a_parameter_unused_on_some_ranks_gets_the_others_part(rank, size, compression):
    used, unused = torch.nn.Parameter(torch.ones(3)), torch.nn.Parameter(torch.ones(3))
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD([used, unused], lr=1.0),
                                         compression=compression)
    loss = used.sum()
    if rank == 0:
        loss = loss + unused.sum()
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    torch.testing.assert_close(used.detach(), torch.zeros(3))
    torch.testing.assert_close(unused.detach(), torch.full((3,), 1 - 1 / size))


def test_groups_of_parameters_keep_their_own_momentum_and_rate(rank):
    first, second = torch.nn.Parameter(torch.ones(8)), torch.nn.Parameter(torch.ones(8))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        optimizer = hvd.DistributedOptimizer(
            torch.optim.SGD([{"params": [first], "momentum": 0.5},
                             {"params": [second], "lr": 0.01}], lr=0.1, momentum=0.9),
            compression=hvd.Compression.dgc(density=1.0, momentum_masking=False))
    if rank == 0:
        assert [str(w.message).count("momentum=0.5") for w in said].count(1) == 1
    alone = [torch.nn.Parameter(torch.ones(8)), torch.nn.Parameter(torch.ones(8))]
    reference = torch.optim.SGD([{"params": [alone[0]], "momentum": 0.5},
                                 {"params": [alone[1]], "lr": 0.01}], lr=0.1, momentum=0.9)
    for _ in range(4):
        for step, parameters in ((optimizer, (first, second)), (reference, alone)):
            step.zero_grad()
            (parameters[0].sum() + 2 * parameters[1].sum()).backward()
            step.step()
    torch.testing.assert_close(first, alone[0], rtol=1e-3, atol=1e-4)
    torch.testing.assert_close(second, alone[1], rtol=1e-3, atol=1e-4)


def test_parameters_added_later_take_part(rank, size):
    first, later = torch.nn.Parameter(torch.zeros(2)), torch.nn.Parameter(torch.zeros(2))
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD([first], lr=1.0))
    optimizer.add_param_group({"params": [later]})
    ((first + later) * (rank + 1.0)).sum().backward()
    optimizer.step()
    assert torch.equal(later.detach(), torch.full((2,), -(size + 1) / 2))
    assert torch.equal(first.detach(), later.detach())


def test_a_gradient_with_strides_of_its_own(rank, size):
    parameter = torch.nn.Parameter(torch.zeros(2, 3, 4, 4).to(memory_format=torch.channels_last))
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD([parameter], lr=1.0))
    parameter.backward(torch.arange(96.0).reshape(2, 3, 4, 4) * (rank + 1))
    optimizer.step()
    torch.testing.assert_close(parameter.detach(),
                               -torch.arange(96.0).reshape(2, 3, 4, 4) * (size + 1) / 2)


def test_a_schedule_of_the_rate_works_as_before(rank):
    net = model()
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(net.parameters(), lr=1.0),
                                         net.named_parameters())
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)
    for _ in range(3):
        optimizer.zero_grad()
        loss_of(net, 0, rank).backward()
        optimizer.step()
        schedule.step()
    assert optimizer.param_groups[0]["lr"] == 0.125


def test_a_closure_is_evaluated_before_the_exchange(size, rank):
    parameter = torch.nn.Parameter(torch.zeros(1))
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD([parameter], lr=1.0))

    def closure():
        loss = (parameter * (rank + 1.0)).sum() + 5
        loss.backward()
        return loss

    assert optimizer.step(closure).item() == 5
    assert parameter.item() == -(size + 1) / 2


# --- misuse ---


def test_misuse_is_named():
    net = model()
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(net.parameters(), lr=0.1),
                                         net.named_parameters(), hvd.Compression.dgc(density=0.1))
    for step in range(12):  # Until steps are expected to be alike.
        if step > 0:
            optimizer.step()
        loss_of(net, 0, 0).backward()
    with pytest.raises(ValueError, match="the steps before had fewer passes"):
        loss_of(net, 0, 0).backward()
    optimizer.zero_grad()
    loss_of(net, 0, 0).backward()
    optimizer.synchronize()
    with pytest.warns(UserWarning, match="called without optimizer.skip_synchronize"):
        optimizer.step()


@pytest.mark.parametrize("arguments,text", [
    (lambda net: {"named_parameters": [("a", net[0].weight), ("a", net[0].bias)]},
     "must be unique. Found duplicates: a"),
    (lambda net: {"named_parameters": [("a", net[0].weight)]}, "were not named"),
    (lambda net: {"named_parameters": net.parameters()}, "should be a sequence of tuples"),
    (lambda net: {"gradient_predivide_factor": 2.0, "op": hvd.Sum}, "not supported with op"),
    (lambda net: {"backward_passes_per_step": 0}, "at least 1"),
    (lambda net: {"compression": 0.01}, "compression=0.01 is not known"),
    (lambda net: {"compression": "dcg"}, "did you mean .dgc."),
    (lambda net: {"compression": {"compressor": "dcg"}}, "dgc"),
    (lambda net: {"compression": hvd.Compression.dgc(densty=0.1)}, "density"),
    (lambda net: {"compression": hvd.Compression.dgc(), "op": hvd.Sum}, "averaged"),
    (lambda net: {"compression": hvd.Compression.dgc(momentum="vanilla")}, "give it once"),
])
def test_arguments_that_contradict_each_other(arguments, text):
    net = model()
    with pytest.raises(ValueError, match=text):
        hvd.DistributedOptimizer(torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9),
                                 **arguments(net))


def test_ranks_with_other_optimizers_are_told(rank, size):
    if size == 1:
        pytest.skip("nobody to disagree with")
    net = model()
    with pytest.raises(hvd.Mismatch, match="Mismatched registration"):
        hvd.DistributedOptimizer(torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9),
                                 net.named_parameters(),
                                 hvd.Compression.dgc(density=0.1 if rank else 0.2))
    assert hvd.allreduce(torch.ones(1), op=hvd.Sum) == size
