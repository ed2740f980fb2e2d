"""momentum="adam": each rank takes Adam's moments of its own gradient, and its steps are exchanged."""

import io
import warnings

import pytest
import torch

import weir.torch as hvd

from adam_reference import AdamReference
from training import assert_replicas_are_equal, loss_of, model, weights
from test_optimizer_arguments import gradient_of

EXACT = {"min_elements": 0, "values": "fp32", "policy": "always", "momentum": "adam"}
EVERYTHING = hvd.Compression.dgc(density=1.0, **EXACT)
BETAS = (0.8, 0.95)


def adamw(parameters, **options):
    return torch.optim.AdamW(parameters, **{"lr": 0.01, "betas": BETAS, "eps": 1e-6, **options})


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_follows_the_reference_step_by_step(rank, size, decay):
    parameter = torch.nn.Parameter(gradient_of(99, 0))
    optimizer = hvd.DistributedOptimizer(adamw([parameter], weight_decay=decay),
                                         compression=hvd.Compression.dgc(density=0.02, **EXACT))
    reference = AdamReference(parameter.numel(), size, 0.02, BETAS, 1e-6)
    for step in range(20):
        rate = optimizer.param_groups[0]["lr"] = 0.01 / (1 + step)
        before = parameter.detach().clone()
        optimizer.zero_grad()
        parameter.backward(gradient_of(step, rank))
        optimizer.synchronize()
        update = reference.step([gradient_of(step, r).flatten().numpy() for r in range(size)], rate)
        update = torch.from_numpy(update).reshape(parameter.shape)
        assert torch.equal(parameter.grad, update), f"step {step}"
        with optimizer.skip_synchronize():
            optimizer.step()
        expected = (before * (1 - rate * decay) if decay else before) - update
        assert torch.equal(parameter.detach(), expected)
    assert optimizer.param_groups[0]["betas"] == BETAS
    assert optimizer.param_groups[0]["weight_decay"] == decay


OPTIMIZERS = {
    "AdamW": lambda p: adamw(p, weight_decay=0.1),
    "Adam": lambda p: torch.optim.Adam(p, lr=0.01),
    "Adam, L2": lambda p: torch.optim.Adam(p, lr=0.01, betas=BETAS, weight_decay=0.1),
}


@pytest.mark.parametrize("shape", [(64, 32), (100,)], ids=["compressed", "dense"])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_everything_sent_equals_the_wrapped_optimizer(name, shape):
    """One rank, or several with the same gradients."""
    parameter = torch.nn.Parameter(gradient_of(99, 0, shape))
    alone = torch.nn.Parameter(parameter.detach().clone())
    optimizer = hvd.DistributedOptimizer(OPTIMIZERS[name]([parameter]), compression=EVERYTHING)
    plain = OPTIMIZERS[name]([alone])
    for step in range(50):
        optimizer.zero_grad()
        parameter.backward(gradient_of(step, 0, shape))
        optimizer.step()
        alone.grad = gradient_of(step, 0, shape)
        plain.step()
        # In each step two roundings of weights below 5 (5e-7), and some of a step of 0.01.
        torch.testing.assert_close(parameter.detach(), alone.detach(), rtol=0,
                                   atol=(step + 1) * 6e-7)


def test_what_travels_dense_takes_the_moments_of_the_mean(rank, size):
    parameter = torch.nn.Parameter(gradient_of(99, 0, (30,)))
    alone = torch.nn.Parameter(parameter.detach().clone())
    optimizer = hvd.DistributedOptimizer(adamw([parameter]), compression=EVERYTHING)
    plain = adamw([alone])
    for step in range(20):
        optimizer.zero_grad()
        parameter.backward(gradient_of(step, rank, (30,)))
        optimizer.step()
        alone.grad = sum(gradient_of(step, r, (30,)) for r in range(size)) / size
        plain.step()
    torch.testing.assert_close(parameter.detach(), alone.detach(), rtol=0, atol=20 * 6e-7)


def trained(rank, compression, steps=12, scaler=None, make=adamw):
    net = model()
    optimizer = hvd.DistributedOptimizer(make(net.parameters()), net.named_parameters(),
                                         compression)
    train(net, optimizer, range(steps), rank, scaler)
    return net


def train(net, optimizer, steps, rank, scaler=None):
    for step in steps:
        optimizer.zero_grad()
        loss = loss_of(net, step, rank)
        if scaler is None:
            loss.backward()
            optimizer.step()
            continue
        scaler.scale(loss).backward()
        optimizer.synchronize()
        scaler.unscale_(optimizer)
        with optimizer.skip_synchronize():
            scaler.step(optimizer)
        scaler.update()


SPARSE = {"density": 0.05, "min_elements": 100, "momentum": "adam"}


@pytest.mark.parametrize("options", [
    {}, {"policy": "never"}, {"route": "split", "policy": "always"}, {"selection": "bucket"},
    {"route": "push_pull", "partition_bytes": 1000}, {"rampup_begin_step": 3, "warmup_steps": 5},
    {"clip_norm": 0.5}, {"values": "int4"}], ids=str)
def test_it_trains_and_replicas_stay_equal(rank, options):
    net = model()
    optimizer = hvd.DistributedOptimizer(adamw(net.parameters()), net.named_parameters(),
                                         hvd.Compression.dgc(**SPARSE, **options))
    first = loss_of(net, 0, rank).item()
    train(net, optimizer, [0] * 40, rank)
    assert loss_of(net, 0, rank).item() < 0.8 * first
    assert_replicas_are_equal(net)


@pytest.mark.skipif(not hasattr(torch.amp, "GradScaler"),
                    reason="before PyTorch 2.3 a GradScaler is for CUDA alone")
def test_a_loss_scale_is_not_in_the_moments(rank):
    compression = hvd.Compression.dgc(**SPARSE, skip_nonfinite=True)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10, growth_interval=2)
    assert torch.equal(weights(trained(rank, compression, scaler=scaler)),
                       weights(trained(rank, compression)))


def test_resumed_training_is_that_of_no_stop_bit_for_bit(rank):
    net = model()
    optimizer = hvd.DistributedOptimizer(adamw(net.parameters(), weight_decay=0.1),
                                         compression=hvd.Compression.dgc(**SPARSE))
    train(net, optimizer, range(5), rank)
    file = io.BytesIO()
    torch.save((net.state_dict(), optimizer.state_dict()), file)
    train(net, optimizer, range(5, 10), rank)

    file.seek(0)
    saved = torch.load(file)
    again = model(seed=99)
    again.load_state_dict(saved[0])
    resumed = hvd.DistributedOptimizer(adamw(again.parameters(), weight_decay=0.1),
                                       compression=hvd.Compression.dgc(**SPARSE))
    resumed.load_state_dict(saved[1])
    train(again, resumed, range(5, 10), rank)
    assert torch.equal(weights(again), weights(net))


def test_parameters_of_another_compressor_stay_with_the_wrapped_optimizer(rank):
    """Their biases are averaged, and Adam takes its step on that: the same in other words."""
    with_moments = weights(trained(rank, EVERYTHING, make=lambda p: adamw(p, weight_decay=0.1)))
    by_name = {**EVERYTHING, "compressor[*bias]": "dense"}
    net = model()
    optimizer = hvd.DistributedOptimizer(adamw(net.parameters(), weight_decay=0.1),
                                         net.named_parameters(), by_name)
    train(net, optimizer, range(12), rank)
    torch.testing.assert_close(weights(net), with_moments, rtol=0, atol=1e-4)
    kept = {tuple(parameter.shape) for parameter, state in optimizer.state.items() if state}
    assert kept == {(40,), (4,)}


def test_moments_of_dense_training_are_left_out_and_said_to_be(rank):
    net = model()
    plain = adamw(net.parameters())
    loss_of(net, 0, rank).backward()
    plain.step()
    hvd.broadcast_parameters(net.state_dict(), 0)
    optimizer = hvd.DistributedOptimizer(plain, compression=hvd.Compression.dgc(**SPARSE))
    with pytest.warns(UserWarning, match="moments of training without compression are left out"):
        train(net, optimizer, [1], rank)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        train(net, optimizer, [2], rank)
    assert_replicas_are_equal(net)


@pytest.mark.parametrize("make, options, match", [
    (lambda p: torch.optim.SGD(p, lr=0.1), {}, "takes the moments of torch.optim.Adam.*is SGD"),
    (lambda p: torch.optim.NAdam(p), {}, "is NAdam"),
    (lambda p: adamw(p, amsgrad=True), {}, "amsgrad=True has no meaning"),
    (lambda p: adamw(p, maximize=True), {}, "maximize=True has no meaning"),
    (adamw, {"beta1": 0.9}, "beta1 is given in the compression options.*give it once"),
    (lambda p: adamw(p, weight_decay=0.1), {"weight_decay": 0.1}, "give it once"),
    (adamw, {"momentum_mu": 0.9}, 'give "beta1"'),
    (adamw, {"gain_compensation": True}, "drops no moments"),
    (adamw, {"compressor": "topk"}, "momentum"),
], ids=str)
def test_what_cannot_be_is_refused(make, options, match):
    with pytest.raises(ValueError, match=match):
        hvd.DistributedOptimizer(make(model().parameters()),
                                 compression={"compressor": "dgc", "momentum": "adam", **options})


def test_sparse_gradients_and_other_types_are_refused(rank):
    table = torch.nn.Embedding(50, 8, sparse=True)
    optimizer = hvd.DistributedOptimizer(adamw(table.parameters()), compression=EVERYTHING)
    with pytest.raises(ValueError, match="is sparse.*sparse_as_dense=True"):
        table(torch.tensor([1, 2 + rank])).sum().backward()
        optimizer.step()
    double = torch.nn.Parameter(torch.zeros(4, dtype=torch.float64))
    with pytest.raises(ValueError, match="is of type torch.float64"):
        hvd.DistributedOptimizer(adamw([double]), compression=EVERYTHING)


def test_a_rate_that_changes_after_the_backward_pass_is_refused(rank):
    net = model()
    optimizer = hvd.DistributedOptimizer(adamw(net.parameters()), compression=EVERYTHING)
    train(net, optimizer, range(2), rank)
    before = weights(net)
    optimizer.zero_grad()
    loss_of(net, 2, rank).backward()
    optimizer.param_groups[0]["lr"] = 0.5
    with pytest.raises(ValueError, match="from 0.01 to 0.5 between the backward pass and step"):
        optimizer.step()
    assert torch.equal(weights(net), before)
