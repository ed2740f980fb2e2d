"""weir.numpy.Gradients: steps, states, and the same bits as weir.torch."""

import subprocess
import sys

import numpy
import pytest
import torch

import weir.numpy as wn
import weir.torch as hvd

SHAPES = {"weights": (20, 30), "bias": (30,), "scale": ()}
COMPRESSIONS = [
    None,
    "fp16",
    {"compressor": "dgc", "density": 0.02, "min_elements": 1},
    {"compressor": "dgc", "density": 0.02, "min_elements": 1, "momentum": "none", "route": "split"},
    {"compressor": "topk", "k": 0.05, "ef": "vanilla", "min_elements": 1},
    {"compressor": "onebit", "ef": "vanilla", "scaling": True, "min_elements": 1},
    {"compressor": "powersgd", "rank": 2, "min_elements": 1},
    {"compressor": "topk", "k": 0.05, "ef": "vanilla", "min_elements": 1, "overrides": {"bias": {"compressor": "dense"}}},
]


def parameters():
    return {name: numpy.zeros(shape, numpy.float32) for name, shape in SHAPES.items()}


def gradients(rank, step):
    random = numpy.random.default_rng((rank, step))
    return {name: random.standard_normal(shape, numpy.float32).reshape(shape) for name, shape in SHAPES.items()}


def assert_equal(found, expected):
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        numpy.testing.assert_array_equal(found[name], array, err_msg=name)


@pytest.mark.parametrize("compression", COMPRESSIONS, ids=str)
def test_updates_have_the_bits_of_weir_torch(rank, compression):
    """Of its optimizer, with a learning rate of 1 and parameters that were 0."""
    group = wn.Gradients(parameters(), compression, name=f"numpy {compression}")
    model = {name: torch.zeros(shape, requires_grad=True) for name, shape in SHAPES.items()}
    momentum = 0.9 if isinstance(compression, dict) and compression["compressor"] == "dgc" \
        and "momentum" not in compression else 0.0
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(list(model.values()), lr=1.0, momentum=momentum),
                                         model.items(), compression or "none")
    for step in range(4):
        for name, gradient in gradients(rank, step).items():
            model[name].grad = None
            with torch.no_grad():
                model[name].zero_()
        sum((value * torch.from_numpy(numpy.array(gradients(rank, step)[name]))).sum()
            for name, value in model.items()).backward()
        optimizer.step()
        updates = group.step(gradients(rank, step), learning_rate=1.0)
        assert_equal({name: -update for name, update in updates.items()},
                     {name: value.detach().numpy() for name, value in model.items()})
    group.close()


def test_a_dense_step_is_the_mean(rank, size):
    group = wn.Gradients(parameters(), name="mean")
    updates = group.step(gradients(rank, 0))
    for name in SHAPES:
        mean = sum(gradients(other, 0)[name] for other in range(size)) / size
        numpy.testing.assert_allclose(updates[name], mean, rtol=1e-5, atol=1e-6)
    assert group.report.step == 0 and group.next_step == 1
    summed = wn.Gradients(parameters(), op=wn.Sum, name="sum").step(gradients(rank, 0))
    numpy.testing.assert_allclose(summed["bias"], size * updates["bias"], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("compression", COMPRESSIONS[2:], ids=str)
def test_a_state_goes_on_bit_for_bit(rank, compression, tmp_path):
    name = f"state {compression}"
    group = wn.Gradients(parameters(), compression, name=name)
    for step in range(3):
        group.step(gradients(rank, step), 0.1)
    numpy.savez(tmp_path / "state.npz", **group.state_dict())
    state = dict(numpy.load(tmp_path / "state.npz"))
    expected = [group.step(gradients(rank, step), 0.1) for step in (3, 4)]
    group.close()
    other = wn.Gradients(parameters(), compression, name=name)
    other.load_state_dict(state)
    assert other.next_step == 3
    for step, updates in zip((3, 4), expected):
        assert_equal(other.step(gradients(rank, step), 0.1), updates)
    other.load_state_dict(wn.broadcast_object(state, 0), own=False)
    assert other.next_step == 3
    with pytest.raises(ValueError, match="no 'weir'"):
        other.load_state_dict({})
    with pytest.raises(ValueError, match="weights|tensors|gradients"):
        wn.Gradients({"other": numpy.zeros(7, numpy.float32)}, compression, name=name + "'").load_state_dict(state)


def test_gradients_are_handed_over_as_they_come(rank):
    group = wn.Gradients(parameters(), {"compressor": "dgc", "density": 0.02, "min_elements": 1}, name="late")
    same = wn.Gradients(parameters(), {"compressor": "dgc", "density": 0.02, "min_elements": 1}, name="at once")
    for step in range(3):
        mine = gradients(rank, step)
        expected = same.step(gradients(rank, step))
        group.begin()
        for name in reversed(list(SHAPES)):
            group.submit(name, mine[name], out=mine[name])
        updates = group.finish()
        assert all(updates[name] is mine[name] for name in SHAPES)
        assert_equal(updates, expected)


def test_a_gradient_that_a_rank_does_not_have_counts_as_zeros(rank, size):
    group = wn.Gradients(parameters(), name="missing")
    mine = gradients(rank, 0)
    if rank == 0:
        del mine["bias"]
    del mine["scale"]  # Nobody has it.
    updates = group.step(mine)
    mean = sum((gradients(other, 0)["bias"] for other in range(1, size)), numpy.zeros(30, numpy.float32)) / size
    numpy.testing.assert_allclose(updates["bias"], mean, rtol=1e-5, atol=1e-6)
    assert updates["scale"] == 0.0


def test_ranks_that_lack_gradients_go_on_without_one_that_has_joined(rank, size):
    group = wn.Gradients(parameters(), name="lacking and joined")
    group.step(gradients(rank, 0))
    for step in range(1, 4 if rank > 0 else 1):
        mine = gradients(rank, step)
        del mine["weights"]
        updates = group.step(mine)
        mean = sum(gradients(other, step)["bias"] for other in range(1, size)) / size
        numpy.testing.assert_allclose(updates["bias"], mean, rtol=1e-5, atol=1e-6)
        assert not updates["weights"].any()
    last = wn.join()
    assert last == 0 or size > 1
    group.load_state_dict(wn.broadcast_object(group.state_dict(), last), own=rank == last)
    assert group.next_step == (4 if size > 1 else 1)


def test_a_program_learns_what_one_process_learns(rank, size):
    """The mean loss of all ranks' samples."""
    random = numpy.random.default_rng(7)
    samples = 6 * size
    inputs, wanted = random.standard_normal((samples, 5)), random.standard_normal(samples)
    alone, together = numpy.zeros(5), numpy.zeros(5)
    group = wn.Gradients({"weights": together}, name="regression")
    mine = slice(6 * rank, 6 * (rank + 1))

    def gradient(weights, rows):
        return inputs[rows].T @ (inputs[rows] @ weights - wanted[rows]) / len(wanted[rows])

    for _ in range(20):
        alone -= 0.1 * gradient(alone, slice(None))
        together -= 0.1 * group.step({"weights": gradient(together, mine)}, 0.1)["weights"]
    numpy.testing.assert_allclose(together, alone, rtol=1e-5)


def test_mistakes_are_refused_by_name(rank):
    group = wn.Gradients(parameters(), name="mistakes")
    with pytest.raises(ValueError, match="there is no array 'wieghts': registered are weights, bias, scale"):
        group.submit("wieghts", numpy.zeros(3))
    with pytest.raises(ValueError, match=r"'bias' was registered as float32 \[30\]; this is float64 \[30\]"):
        group.submit("bias", numpy.zeros(30))
    with pytest.raises(ValueError, match="outside|step"):
        group.submit("bias", numpy.zeros(30, numpy.float32))
    group.begin()
    group.submit("bias", numpy.zeros(30, numpy.float32))
    with pytest.raises(ValueError, match="already submitted"):
        group.submit("bias", numpy.zeros(30, numpy.float32))
    group.finish()
    with pytest.raises(ValueError, match="at least one array"):
        wn.Gradients({})
    with pytest.raises(ValueError, match="dgcc"):
        wn.Gradients(parameters(), "dgcc", name="unknown")
    with pytest.raises(ValueError, match="floating|float"):
        wn.Gradients({"numbers": numpy.zeros(3, numpy.int64)}, name="integers")


def test_a_skipped_step_has_nothing_to_subtract(rank, size):
    group = wn.Gradients(parameters(), {"compressor": "dgc", "density": 0.02, "min_elements": 1,
                                        "skip_nonfinite": True}, name="skipped")
    group.step(gradients(rank, 0))
    mine = gradients(rank, 1)
    if rank == size - 1:
        mine["weights"][3, 4] = numpy.nan
    group.begin()
    for name, gradient in mine.items():
        group.submit(name, gradient, out=gradient)
    for update in group.finish().values():
        numpy.testing.assert_array_equal(update, numpy.zeros_like(update))
    assert group.report.skipped
    assert numpy.any(group.step(gradients(rank, 2))["weights"])


def test_a_mistake_in_a_step_begins_none(rank):
    group = wn.Gradients(parameters(), name="mistake in a step")
    with pytest.raises(ValueError, match="there is no array 'wieghts'"):
        group.step({"bias": gradients(rank, 0)["bias"], "wieghts": numpy.zeros(3)})
    assert group.step(gradients(rank, 0)).keys() == SHAPES.keys()


def test_momentum_may_change_as_in_weir_torch(rank):
    """Nesterov's memory is scaled with it."""
    options = {"compressor": "dgc", "density": 0.05, "min_elements": 1}
    group = wn.Gradients(parameters(), {**options, "momentum": "nesterov"}, name="changing momentum")
    model = {name: torch.zeros(shape, requires_grad=True) for name, shape in SHAPES.items()}
    sgd = torch.optim.SGD(list(model.values()), lr=1.0, momentum=0.9, nesterov=True)
    optimizer = hvd.DistributedOptimizer(sgd, model.items(), options)
    for step in range(6):
        momentum = 0.5 if step in (2, 3) else 0.9
        sgd.param_groups[0]["momentum"] = momentum
        for name, gradient in gradients(rank, step).items():
            with torch.no_grad():
                model[name].zero_()
            model[name].grad = None
        sum((value * torch.from_numpy(numpy.array(gradients(rank, step)[name]))).sum()
            for name, value in model.items()).backward()
        optimizer.step()
        group.begin(learning_rate=1.0, momentum=momentum)
        for name, gradient in gradients(rank, step).items():
            group.submit(name, gradient)
        assert_equal({name: -update for name, update in group.finish().items()},
                     {name: value.detach().numpy() for name, value in model.items()})


def test_no_framework_is_imported():
    program = "import sys, weir.numpy; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0
