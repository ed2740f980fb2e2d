"""weir.jax.distributed: steps with the bits of weir.numpy, states, and what it refuses."""

import numpy
import pytest

import weir.numpy as wn

jax = pytest.importorskip("jax")
optax = pytest.importorskip("optax")
jnp = jax.numpy
import weir.jax as wj  # noqa: E402
from weir.jax import _calls  # noqa: E402

SHAPES = {"bias": (30,), "scale": (), "weights": (20, 30)}
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
DGC = COMPRESSIONS[2]


@pytest.fixture(params=["direct", "python"])
def way(request, monkeypatch):
    """Runs a test where XLA calls the engine itself, and where it calls Python."""
    if request.param == "python":
        monkeypatch.setattr(_calls, "are_direct", lambda: False)
    return request.param


def parameters(dtype="float32"):
    return {name: jnp.zeros(shape, dtype) for name, shape in SHAPES.items()}


def gradients(rank, step, dtype="float32"):
    random = numpy.random.default_rng((rank, step))
    return {name: jnp.asarray(random.standard_normal(shape), dtype) for name, shape in SHAPES.items()}


def assert_equal(found, expected):
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        numpy.testing.assert_array_equal(found[name], array, err_msg=name)


def stepped(transformation):
    return jax.jit(lambda state, gradient: transformation.update(gradient, state))


@pytest.mark.parametrize("compression", COMPRESSIONS, ids=str)
def test_updates_have_the_bits_of_weir_numpy(way, rank, compression):
    group = wn.Gradients({name: numpy.zeros(shape, "float32") for name, shape in SHAPES.items()}, compression,
                         name=f"numpy {compression} {way}")
    tx = wj.distributed(optax.identity(), compression, learning_rate=lambda step: 0.1 / (1 + step),
                        name=f"jax {compression} {way}")
    state, step = tx.init(parameters()), stepped(tx)
    for number in range(4):
        updates, state = step(state, gradients(rank, number))
        rate = numpy.float32(0.1) / numpy.float32(1 + number)
        arrays = {name: numpy.asarray(value) for name, value in gradients(rank, number).items()}
        assert_equal(updates, group.step(arrays, learning_rate=float(rate)))
    assert int(state.step) == 4
    assert (tx.report.step, tx.report.wire_bytes) == (3, group.report.wire_bytes)
    tx.close()
    group.close()


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_gradients_of_half_the_bits(way, rank, size, dtype):
    tx = wj.distributed(optax.identity(), name=f"{dtype} {way}")
    updates, _ = stepped(tx)(tx.init(parameters(dtype)), gradients(rank, 0, dtype))
    mean = sum(gradients(other, 0, dtype)["weights"].astype("float32") for other in range(size)) / size
    assert updates["weights"].dtype == dtype
    numpy.testing.assert_allclose(updates["weights"].astype("float32"), mean, rtol=0.02, atol=0.02)
    tx.close()


def model(p, x):
    return jnp.tanh(x @ p["weights"]) * p["scale"] + p["bias"]


def loss(p, x, y):
    return ((model(p, x) - y) ** 2).mean()


def batches(rank, size, steps):
    """A rank's part of each step's batch."""
    random = numpy.random.default_rng(5)
    whole = [(random.standard_normal((4 * size, 20)), random.standard_normal((4 * size, 30))) for _ in range(steps)]
    return [tuple(jnp.asarray(part[4 * rank:][:4], "float32") for part in batch) for batch in whole]


def started():
    random = numpy.random.default_rng(3)
    return {name: jnp.asarray(0.3 * random.standard_normal(shape), "float32") for name, shape in SHAPES.items()}


def trained(tx, data, p=None, state=None):
    p = started() if p is None else p
    state = tx.init(p) if state is None else state

    @jax.jit
    def step(p, state, x, y):
        updates, state = tx.update(jax.grad(loss)(p, x, y), state, p)
        return optax.apply_updates(p, updates), state

    for x, y in data:
        p, state = step(p, state, x, y)
    return p, state


@pytest.mark.parametrize("inner", [optax.sgd(0.1, momentum=0.9), optax.adamw(0.01),
                                   optax.chain(optax.clip_by_global_norm(1.0), optax.adam(0.01))],
                         ids=["sgd", "adamw", "clipped adam"])
def test_training_is_that_of_one_process_on_the_whole_batch(way, rank, size, inner):
    tx = wj.distributed(inner)
    found, _ = trained(tx, batches(rank, size, 10))
    parts = [batches(other, size, 10) for other in range(size)]
    whole = [tuple(jnp.concatenate(part) for part in zip(*of_step)) for of_step in zip(*parts)]
    expected, _ = trained(inner, whole)
    for name, value in expected.items():
        numpy.testing.assert_allclose(found[name], value, rtol=1e-4, atol=1e-5, err_msg=name)
    tx.close()


def test_inside_a_chain_and_a_schedule(way, rank, size):
    rate = optax.cosine_decay_schedule(0.1, 20)
    tx = wj.distributed(optax.identity(), learning_rate=rate)
    found, _ = trained(optax.chain(tx, optax.sgd(rate, momentum=0.9)), batches(rank, size, 10))
    other = wj.distributed(optax.sgd(rate, momentum=0.9))
    assert_equal(found, trained(other, batches(rank, size, 10))[0])
    tx.close()
    other.close()


def test_gradients_that_the_program_uses_itself(way, rank, size):
    tx = wj.distributed(optax.sgd(0.1), DGC)
    p, data = started(), batches(rank, size, 4)

    @jax.jit
    def step(p, state, x, y):
        gradient = jax.grad(loss)(p, x, y)
        updates, state = tx.update(gradient, state, p)
        return optax.apply_updates(p, updates), state, gradient, optax.tree.norm(gradient)

    state = tx.init(p)
    for x, y in data:
        before = p
        p, state, gradient, norm = step(p, state, x, y)
        assert_equal(gradient, jax.jit(jax.grad(loss))(before, x, y))
        numpy.testing.assert_allclose(norm, optax.tree.norm(gradient), rtol=1e-5)
    other = wj.distributed(optax.sgd(0.1), DGC)
    assert_equal(p, trained(other, data)[0])
    tx.close()
    other.close()


@pytest.mark.parametrize("unroll", [1, 3])
def test_in_a_loop_of_the_program(way, rank, size, unroll):
    tx = wj.distributed(optax.sgd(0.1), DGC)
    p, data = started(), batches(rank, size, 6)

    def body(carry, batch):
        p, state = carry
        updates, state = tx.update(jax.grad(loss)(p, *batch), state, p)
        return (optax.apply_updates(p, updates), state), None

    found, _ = jax.jit(lambda carry, xs: jax.lax.scan(body, carry, xs, unroll=unroll)[0])(
        (p, tx.init(p)), tuple(jnp.stack(part) for part in zip(*data)))
    other = wj.distributed(optax.sgd(0.1), DGC)
    assert_equal(found, trained(other, data)[0])
    tx.close()
    other.close()


def test_outside_jit(way, rank, size):
    tx, other = wj.distributed(optax.sgd(0.1), DGC), wj.distributed(optax.sgd(0.1), DGC)
    p, data = started(), batches(rank, size, 4)
    state = tx.init(p)
    for x, y in data:
        updates, state = tx.update(jax.jit(jax.grad(loss))(p, x, y), state, p)
        p = jax.jit(optax.apply_updates)(p, updates)
    expected = trained(other, data)[0]
    for name, value in expected.items():
        numpy.testing.assert_allclose(p[name], value, rtol=1e-6, atol=1e-7, err_msg=name)
    tx.close()
    other.close()


@pytest.mark.parametrize("compression", COMPRESSIONS[2:], ids=str)
def test_training_goes_on_from_a_checkpoint_bit_for_bit(way, rank, size, compression, tmp_path):
    tx = wj.distributed(optax.adam(0.01), compression)
    data = batches(rank, size, 8)
    p, state = trained(tx, data[:4])
    checkpoint = {"parameters": p, "optimizer": state, "compressors": tx.state_dict()}
    numpy.savez(tmp_path / "saved.npz", *map(numpy.asarray, jax.tree.leaves(checkpoint)))
    expected = trained(tx, data[4:], p, state)[0]
    tx.close()
    files = numpy.load(tmp_path / "saved.npz")
    restored = jax.tree.unflatten(jax.tree.structure(checkpoint), [files[name] for name in files.files])
    again = wj.distributed(optax.adam(0.01), compression)
    again.load_state_dict(restored["compressors"], restored["parameters"])
    assert_equal(trained(again, data[4:], restored["parameters"], restored["optimizer"])[0], expected)
    again.close()


def test_a_checkpoint_of_orbax(rank, size, tmp_path):
    checkpointing = pytest.importorskip("orbax.checkpoint")
    tx = wj.distributed(optax.sgd(0.1), DGC)
    data = batches(rank, size, 6)
    p, state = trained(tx, data[:3])
    saved = {"parameters": p, "optimizer": state, "compressors": tx.state_dict()}
    with checkpointing.StandardCheckpointer() as checkpointer:
        checkpointer.save(tmp_path / "checkpoint", saved)
        checkpointer.wait_until_finished()
        expected = trained(tx, data[3:], p, state)[0]
        restored = checkpointer.restore(tmp_path / "checkpoint", saved)
    tx.load_state_dict(restored["compressors"], restored["parameters"])
    assert_equal(trained(tx, data[3:], restored["parameters"], restored["optimizer"])[0], expected)
    tx.close()


def test_init_begins_anew(way, rank, size):
    tx = wj.distributed(optax.sgd(0.1), DGC)
    assert tx.report is None
    data = batches(rank, size, 4)
    first = trained(tx, data)[0]
    assert_equal(trained(tx, data)[0], first)
    jax.eval_shape(tx.init, started())  # Begins nothing.
    tx.close()


def test_a_state_of_another_step_is_refused(way, rank, size):
    tx = wj.distributed(optax.sgd(0.1), DGC)
    data = batches(rank, size, 2)
    p, state = trained(tx, data)
    with pytest.raises(Exception, match="state is of step 1, and what the compressors of .* is of step 2"):
        jax.block_until_ready(trained(tx, data, p, state._replace(step=jnp.int32(1))))
    assert_equal(trained(tx, data)[0], p)
    tx.close()


def test_skipped_steps_change_nothing(way, rank, size):
    tx = wj.distributed(optax.adam(0.1), {**DGC, "skip_nonfinite": 1})
    data = batches(rank, size, 3)
    p, state = trained(tx, data)
    broken = [(x.at[0, 0].set(jnp.nan) if rank == 0 else x, y) for x, y in data[:1]]
    after, later = trained(tx, broken, p, state)
    assert_equal(after, p)
    assert jax.tree.all(jax.tree.map(lambda a, b: (a == b).all(), state.inner, later.inner))
    assert tx.report.skipped and int(later.step) == 4
    moved, _ = trained(tx, data, after, later)
    assert not numpy.array_equal(moved["weights"], p["weights"]) and not tx.report.skipped
    tx.close()


def test_bad_input_is_named(way, rank, size):
    with pytest.raises(ValueError, match="for Average and Sum"):
        wj.distributed(optax.sgd(0.1), op=wj.Max)
    with pytest.raises(ValueError, match="no_such"):
        tx = wj.distributed(optax.sgd(0.1), {"compressor": "no_such"})
        stepped(tx)(tx.init(parameters()), gradients(rank, 0))
    tx = wj.distributed(optax.sgd(0.1))
    with pytest.raises(ValueError, match="nothing to save"):
        tx.state_dict()
    state = tx.init(parameters())
    _, state = stepped(tx)(state, gradients(rank, 0))
    with pytest.raises(ValueError, match="not the gradients that were there at first: more"):
        stepped(tx)(state, {**gradients(rank, 0), "more": jnp.zeros(3)})
    with pytest.raises(ValueError, match="'bias' was float32 .30. at first; this is float32 .31."):
        stepped(tx)(state, {**gradients(rank, 0), "bias": jnp.zeros(31)})
    with pytest.raises(ValueError, match="it has no 'weir'"):
        tx.load_state_dict({}, parameters())
    with pytest.raises(ValueError, match="int32 are not supported|floating point"):
        other = wj.distributed(optax.sgd(0.1))
        stepped(other)(other.init({"n": jnp.zeros(3, "int32")}), {"n": jnp.zeros(3, "int32")})
    tx.close()


def test_a_rank_without_data_joins_and_comes_back(rank, size):
    """As docs/how-to/from-jax.md says."""
    tx = wj.distributed(optax.sgd(0.1), DGC)
    p, state = trained(tx, batches(rank, size, 3 if rank == 0 else 5))
    last = wj.join()
    assert last != 0 or size == 1
    p, state = wj.broadcast_parameters((p, state), last)
    tx.load_state_dict(wj.broadcast_object(tx.state_dict(), last), p, own=rank == last)
    p, state = trained(tx, batches(rank, size, 2), p, state)
    assert int(state.step) == (5 if size > 1 else 3) + 2
    assert_equal(wj.broadcast_parameters(p, 0), p)
    tx.close()


def test_sums_and_process_sets(way, rank, size):
    tx = wj.distributed(optax.identity(), op=wj.Sum)
    updates, _ = stepped(tx)(tx.init(parameters()), gradients(rank, 0))
    numpy.testing.assert_allclose(updates["bias"], sum(gradients(other, 0)["bias"] for other in range(size)), rtol=1e-5,
                                  atol=1e-6)
    tx.close()
    if size < 3:
        return
    pair = wj.add_process_set([0, 1])
    if rank < 2:
        tx = wj.distributed(optax.identity(), process_set=pair)
        updates, _ = stepped(tx)(tx.init(parameters()), gradients(rank, 0))
        numpy.testing.assert_allclose(updates["bias"], (gradients(0, 0)["bias"] + gradients(1, 0)["bias"]) / 2, rtol=1e-5,
                                      atol=1e-6)
        tx.close()
    wj.barrier()
    wj.remove_process_set(pair)


def test_models_of_flax_and_donated_arrays(rank, size):
    linen = pytest.importorskip("flax.linen")
    model = linen.Sequential([linen.Dense(20), linen.relu, linen.Dense(4)])
    p = wj.broadcast_parameters(model.init(jax.random.key(rank), jnp.ones((1, 8))))
    tx = wj.distributed(optax.sgd(0.1), {**DGC, "overrides": {"params.layers_2.*": {"compressor": "dense"}}})
    state = tx.init(p)
    step = jax.jit(lambda p, state, x: (lambda updates, state: (optax.apply_updates(p, updates), state))(
        *tx.update(jax.grad(lambda p: (model.apply(p, x) ** 2).mean())(p), state)), donate_argnums=(0, 1))
    for number in range(3):
        p, state = step(p, state, jax.random.normal(jax.random.key(number + 10 * rank), (4, 8)))
    assert tx._exchange._names[0] == "params.layers_0.bias"
    assert_equal(wj.broadcast_parameters(p)["params"]["layers_2"], p["params"]["layers_2"])
    tx.close()


def test_let_go_in_mid_step(rank, size):
    """A step whose program is under way ends, whoever still knows its transformation."""
    def train():
        tx = wj.distributed(optax.sgd(0.1), DGC)
        return trained(tx, batches(rank, size, 5))[0]

    found = train()
    tx = wj.distributed(optax.sgd(0.1), DGC)
    assert_equal(found, trained(tx, batches(rank, size, 5))[0])
    tx.close()


def test_what_each_device_has_is_refused(way):
    from jax.sharding import PartitionSpec

    mesh = jax.make_mesh((1,), ("data",), axis_types=(jax.sharding.AxisType.Auto,))
    program = jax.shard_map(lambda x: wj.allreduce(x), mesh=mesh, in_specs=PartitionSpec("data"),
                            out_specs=PartitionSpec("data"))
    with pytest.raises(NotImplementedError, match="whole arrays of this process"):
        jax.jit(program)(jnp.ones(4))
