"""torch.amp.GradScaler around DistributedOptimizer, in Horovod's way of using both."""

import pytest
import torch
import torch.utils.checkpoint

import weir.torch as hvd

from training import assert_replicas_are_equal, loss_of, model, weights

if not hasattr(torch.amp, "GradScaler"):
    pytest.skip("before PyTorch 2.3 a GradScaler is for CUDA alone", allow_module_level=True)


def step_of(optimizer, scaler, loss):
    """One step, as Horovod's documentation has it."""
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    optimizer.synchronize()
    scaler.unscale_(optimizer)
    with optimizer.skip_synchronize():
        scaler.step(optimizer)
    scaler.update()


def scaler_of(init_scale=2.0**10):
    # The scale doubles every second step, and halves where one overflows.
    return torch.amp.GradScaler("cpu", init_scale=init_scale, growth_interval=2)


COMPRESSIONS = {
    "none": hvd.Compression.none,
    "dgc": hvd.Compression.dgc(density=0.05, values="fp32", min_elements=100, policy="always"),
    "dgc, clipped": hvd.Compression.dgc(density=0.05, values="fp32", min_elements=100,
                                        clip_norm=0.1),
    "topk": hvd.Compression.topk(0.05, values="fp32", min_elements=0),
    "dgc, local decay": hvd.Compression.dgc(density=0.05, values="fp32", min_elements=100,
                                            weight_decay=1e-2, weight_decay_form="local"),
    "powersgd": hvd.Compression.powersgd(2, min_elements=0),
    "fp16": hvd.Compression.fp16,
}


def made(name, groups=None):
    net = model()
    decay = 0.0 if "decay" in name else 1e-2
    optimizer = torch.optim.SGD(groups(net) if groups else net.parameters(), lr=0.1, momentum=0.9,
                                weight_decay=decay)
    return net, hvd.DistributedOptimizer(optimizer, net.named_parameters(), COMPRESSIONS[name])


@pytest.mark.parametrize("name", COMPRESSIONS)
def test_training_with_a_scale_that_changes_equals_training_without(rank, name):
    net, optimizer = made(name)
    scaler = scaler_of()
    for step in range(8):
        step_of(optimizer, scaler, loss_of(net, step, rank))
    assert scaler.get_scale() == 2.0**14
    plain, reference = made(name)
    for step in range(8):
        reference.zero_grad()
        loss_of(plain, step, rank).backward()
        reference.step()
    # Powers of two lose nothing: all the same bits.
    assert torch.equal(weights(net), weights(plain))
    assert_replicas_are_equal(net)


def memory_of(optimizer):
    state = optimizer.state_dict()["weir"]
    return ([None if saved is None else saved.numpy().tobytes() for saved in state["exchanges"]],
            {name: value.numpy().tobytes() for name, value in state["decay"].items()})


def one_group(net):
    return net.parameters()


def two_groups(net):
    return [{"params": list(net[0].parameters()), "momentum": 0.5},
            {"params": list(net[2].parameters())}]


def values_of(exchanges):
    """Saved states without their headers, in which steps are counted, and their checksums."""
    return [saved[200:-8] for saved in exchanges]


@pytest.mark.parametrize("groups", [one_group, two_groups])
@pytest.mark.parametrize("name", ["dgc", "topk", "dgc, clipped"])
def test_an_overflow_on_one_rank_skips_the_step_on_all(rank, size, name, groups):
    net, optimizer = made(name, groups)
    scaler = scaler_of()
    for step in range(3):
        step_of(optimizer, scaler, loss_of(net, step, rank))
    before, scale = weights(net), scaler.get_scale()
    exchanges, decay = memory_of(optimizer)
    # Only the last layer's weight on the last rank: one of two groups, perhaps.
    if rank == size - 1:
        handle = net[2].weight.register_hook(lambda gradient: gradient * float("inf"))
    step_of(optimizer, scaler, loss_of(net, 3, rank))
    if rank == size - 1:
        handle.remove()
    assert optimizer.step_report.skipped
    assert all(p.grad.isinf().all() for p in net.parameters())
    assert scaler.get_scale() == scale / 2
    assert torch.equal(weights(net), before)
    after, decay_after = memory_of(optimizer)
    assert values_of(after) == values_of(exchanges) and decay_after == decay
    for step in range(4, 7):
        step_of(optimizer, scaler, loss_of(net, step, rank))
        assert not optimizer.step_report.skipped
    assert not torch.equal(weights(net), before)
    assert weights(net).isfinite().all()
    assert_replicas_are_equal(net)


def test_passes_of_one_step_share_their_scale(rank):
    net = model()
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9),
                                         net.named_parameters(), COMPRESSIONS["dgc"],
                                         backward_passes_per_step=2)
    scaler = scaler_of()
    scaler.scale(loss_of(net, 0, rank)).backward()
    with pytest.raises(ValueError, match="carry the loss scales 1024.0 and None"):
        loss_of(net, 1, rank).backward()
    optimizer.synchronize()


def test_two_models_one_scaled_one_not(rank):
    (scaled, first), (plain, second) = made("dgc"), made("dgc")
    scaler = scaler_of()
    for step in range(4):
        step_of(first, scaler, loss_of(scaled, step, rank))
        second.zero_grad()
        loss_of(plain, step, rank).backward()
        second.step()
    assert torch.equal(weights(scaled), weights(plain))


class OwnScaler(torch.amp.GradScaler):
    """Scales in a way of its own."""

    def scale(self, outputs):
        if self._scale is None:
            self._lazy_init_scale_growth_tracker(outputs.device)
        return outputs * self._scale


def test_a_scaler_of_another_kind_has_to_be_named(rank):
    def trained(name_it):
        net, optimizer = made("dgc")
        scaler = OwnScaler("cpu", init_scale=2.0**10)
        if name_it:
            optimizer.set_grad_scaler(scaler)
        for step in range(3):
            step_of(optimizer, scaler, loss_of(net, step, rank))
        return weights(net)

    with pytest.raises(RuntimeError, match=r"did not see: call optimizer.set_grad_scaler\(scaler"):
        trained(name_it=False)
    net, optimizer = made("dgc")
    for step in range(3):
        step_of(optimizer, scaler_of(), loss_of(net, step, rank))
    assert torch.equal(trained(name_it=True), weights(net))




def test_a_scale_that_comes_late_is_refused_unless_steps_can_be_skipped(rank):
    net, optimizer = made("dgc")
    loss_of(net, 0, rank).backward()
    optimizer.step()
    with pytest.raises(ValueError, match="give the compression skip_nonfinite=True"):
        step_of(optimizer, scaler_of(), loss_of(net, 1, rank))
    optimizer.synchronize()
    net = model()
    ready = hvd.DistributedOptimizer(torch.optim.SGD(net.parameters(), lr=0.1), compression={
        "compressor": "dgc", "skip_nonfinite": True})
    loss_of(net, 0, rank).backward()
    ready.step()
    step_of(ready, scaler_of(), loss_of(net, 1, rank))


def test_a_disabled_scaler_changes_nothing(rank):
    (net, optimizer), (plain, reference) = made("dgc"), made("dgc")
    scaler = torch.amp.GradScaler("cpu", enabled=False)
    for step in range(3):
        step_of(optimizer, scaler, loss_of(net, step, rank))
        reference.zero_grad()
        loss_of(plain, step, rank).backward()
        reference.step()
    assert torch.equal(weights(net), weights(plain))


def test_a_list_of_losses_and_an_inner_backward_pass(rank):
    """Reentrant checkpoints run backward passes of their own within the scaled one."""
    (net, optimizer), (plain, reference) = made("dgc"), made("dgc")
    scaler = scaler_of()

    def losses(model_):
        hidden = torch.utils.checkpoint.checkpoint(
            model_, torch.ones(4, 12, requires_grad=True) * (rank + 1), use_reentrant=True)
        return [hidden.square().mean(), hidden.sum()]

    for _ in range(3):
        optimizer.zero_grad()
        torch.autograd.backward(scaler.scale(losses(net)))
        optimizer.synchronize()
        scaler.unscale_(optimizer)
        with optimizer.skip_synchronize():
            scaler.step(optimizer)
        scaler.update()
        reference.zero_grad()
        torch.autograd.backward(losses(plain))
        reference.step()
    assert torch.equal(weights(net), weights(plain))


def test_adasum_says_that_ranks_would_decide_alone():
    net = torch.nn.Linear(2, 2)
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(net.parameters(), lr=0.1), op=hvd.Adasum,
                                         named_parameters=net.named_parameters())
    scaler = torch.amp.GradScaler("cpu")
    scaler.scale(net(torch.ones(2)).sum()).backward()
    with pytest.raises(ValueError, match="GradScaler cannot be used with op=Adasum"):
        scaler.step(optimizer)
    with pytest.raises(ValueError, match="GradScaler cannot be used with op=Adasum"):
        optimizer.set_grad_scaler(scaler)
