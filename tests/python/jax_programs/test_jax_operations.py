"""The operations of weir.jax, inside jax.jit and outside: results, gradients, and what they refuse."""

import numpy
import pytest

import weir.torch as hvd

jax = pytest.importorskip("jax")
jnp = jax.numpy
import weir.jax as wj  # noqa: E402
from weir.jax import _calls  # noqa: E402


@pytest.fixture(params=["outside", "jit", "python"])
def run(request, monkeypatch):
    """Runs a function outside ``jax.jit``, inside, and inside where XLA calls Python."""
    if request.param == "python":
        monkeypatch.setattr(_calls, "are_direct", lambda: False)
    else:
        assert _calls.are_direct()
    return (lambda function, *values: function(*values)) if request.param == "outside" else (
        lambda function, *values: jax.jit(function)(*values))


def of_rank(rank, dtype="float32", shape=(4, 3)):
    return jnp.asarray(numpy.arange(numpy.prod(shape)).reshape(shape) + 10 * rank, dtype)


def of_all(size, **more):
    return [of_rank(rank, **more) for rank in range(size)]


@pytest.mark.parametrize("dtype", ["int32", "float16", "bfloat16", "float32"])
def test_an_all_reduce_combines_all_ranks_arrays(run, rank, size, dtype):
    found = run(lambda x: wj.allreduce(x, op=wj.Sum), of_rank(rank, dtype))
    assert found.dtype == dtype and isinstance(found, jax.Array)
    numpy.testing.assert_array_equal(found, sum(of_all(size, dtype=dtype)))
    scaled = run(lambda x: wj.allreduce(x, wj.Sum, prescale_factor=2.0, postscale_factor=0.5), of_rank(rank))
    numpy.testing.assert_array_equal(scaled, sum(of_all(size)))


@pytest.mark.parametrize("op, combine", [(wj.Min, numpy.minimum), (wj.Max, numpy.maximum),
                                         (wj.Product, numpy.multiply)])
def test_other_ways_to_combine(run, rank, size, op, combine):
    numpy.testing.assert_array_equal(run(lambda x: wj.allreduce(x, op=op), of_rank(rank)),
                                     combine.reduce([numpy.asarray(each) for each in of_all(size)]))


def test_a_tree_is_one_operation(run, rank, size):
    tree = {"a": of_rank(rank), "b": [of_rank(rank, "int32"), jnp.float32(rank)], "none": None}
    found = run(lambda x: wj.allreduce(x, op=wj.Sum), tree)
    assert found.keys() == tree.keys() and found["none"] is None
    numpy.testing.assert_array_equal(found["a"], sum(of_all(size)))
    numpy.testing.assert_array_equal(found["b"][0], sum(of_all(size, dtype="int32")))
    assert float(found["b"][1]) == size * (size - 1) / 2
    assert run(lambda x: wj.allreduce(x), {}) == {}


def test_arrays_are_gathered_copied_and_moved(run, rank, size):
    numpy.testing.assert_array_equal(run(wj.allgather, of_rank(rank, "int8")),
                                     numpy.concatenate(of_all(size, dtype="int8")))
    numpy.testing.assert_array_equal(run(lambda x: wj.broadcast(x, size - 1), of_rank(rank)), of_rank(size - 1))
    rows = jnp.repeat(jnp.arange(size), 2) + 10 * rank  # Two for each rank.
    numpy.testing.assert_array_equal(run(wj.alltoall, rows),
                                     numpy.repeat(10 * numpy.arange(size), 2) + rank)
    whole = sum(of_all(size, shape=(5, 2)))
    first = sum(5 // size + (other < 5 % size) for other in range(rank))
    numpy.testing.assert_array_equal(
        run(lambda x: wj.reducescatter(x, op=wj.Sum), of_rank(rank, shape=(5, 2))),
        whole[first:first + 5 // size + (rank < 5 % size)])


def test_a_program_runs_again_and_again(run, rank, size):
    def program(x):
        return wj.allreduce(jnp.sin(x), name="again") + wj.allgather(x, name="again").sum()

    step = jax.jit(program) if run.__name__ == "jit" else program
    for turn in range(20):
        numpy.testing.assert_allclose(
            step(of_rank(rank) + turn),
            sum(jnp.sin(each + turn) for each in of_all(size)) / size + sum((each + turn).sum() for each in of_all(size)),
            rtol=1e-5, atol=1e-4)


def test_in_a_loop_of_the_program(rank, size):
    def body(sum_so_far, x):
        return sum_so_far + wj.allreduce(x, wj.Sum, name="looped"), None

    found = jax.jit(lambda xs: jax.lax.scan(body, jnp.zeros(3), xs)[0])(of_rank(rank))
    numpy.testing.assert_array_equal(found, sum(each.sum(0) for each in of_all(size)))


def gradient_over_all(function, rank, size):
    """The gradient, for this rank's array, of the sum of all ranks' losses: by JAX alone."""
    def total(arrays):
        return sum(jnp.vdot(weights(other, found.shape), found) for other, found in enumerate(function(arrays)))

    return jax.grad(total)(of_all(size))[rank]


def weights(rank, shape):
    return jax.random.normal(jax.random.key(rank), shape)


OPERATIONS = {
    "sum": (lambda x: wj.allreduce(x, wj.Sum), lambda arrays: [sum(arrays)] * len(arrays)),
    "average": (lambda x: wj.allreduce(x, postscale_factor=3.0),
                lambda arrays: [3.0 * sum(arrays) / len(arrays)] * len(arrays)),
    "gather": (wj.allgather, lambda arrays: [jnp.concatenate(arrays)] * len(arrays)),
    "broadcast": (lambda x: wj.broadcast(x, 0), lambda arrays: [arrays[0]] * len(arrays)),
    "all to all": (lambda x: wj.alltoall(jnp.tile(x, (wj.size(), 1))),
                   lambda arrays: [jnp.concatenate(arrays)] * len(arrays)),
    "scatter": (lambda x: wj.reducescatter(jnp.tile(x, (wj.size(), 1)), prescale_factor=2.0),
                lambda arrays: [2.0 * sum(arrays) / len(arrays)] * len(arrays)),
}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_gradients_are_those_of_all_ranks_losses(run, rank, size, operation):
    call, alone = OPERATIONS[operation]
    found = run(jax.grad(lambda x: jnp.vdot(weights(rank, call(x).shape), call(x))), of_rank(rank))
    numpy.testing.assert_allclose(found, gradient_over_all(alone, rank, size), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("operation", ["sum", "all to all", "scatter"])
def test_gradients_have_gradients(run, rank, size, operation):
    """Of a penalty on the gradient, which is a sum of squares here: by JAX alone, for all ranks together."""
    call, alone = OPERATIONS[operation]

    def penalty(x):
        return (jax.grad(lambda x: (call(x) ** 2).sum())(x) ** 2).sum()

    def penalty_of_all(arrays):
        return sum((each ** 2).sum() for each in jax.grad(lambda a: sum((r ** 2).sum() for r in alone(a)))(arrays))

    expected = jax.grad(penalty_of_all)(of_all(size))[rank]
    numpy.testing.assert_allclose(run(jax.grad(penalty), of_rank(rank)), expected, rtol=1e-3)


def test_whole_numbers_beside_a_loss(run, rank, size):
    def loss(x):
        means = wj.allreduce({"loss": (x ** 2).sum(), "count": jnp.int32(rank)}, wj.Sum)
        return means["loss"], means["count"]

    found, count = run(jax.grad(loss, has_aux=True), of_rank(rank))
    numpy.testing.assert_allclose(found, 2 * size * of_rank(rank))
    assert int(count) == size * (size - 1) / 2


def test_minima_have_no_gradient():
    with pytest.raises(NotImplementedError, match="by Min has no gradient"):
        jax.grad(lambda x: wj.allreduce(x, wj.Min).sum())(jnp.ones(3))


def test_of_a_process_set(run, rank, size):
    if size < 3:
        pytest.skip("takes three ranks")
    pair = wj.add_process_set([0, 2])
    if rank in (0, 2):
        numpy.testing.assert_array_equal(run(lambda x: wj.allreduce(x, wj.Sum, process_set=pair), of_rank(rank)),
                                         of_rank(0) + of_rank(2))
        assert run(lambda x: wj.allgather(x, process_set=pair), of_rank(rank)).shape == (8, 3)
    else:
        with pytest.raises(ValueError, match="not a member"):
            run(lambda x: wj.allreduce(x, process_set=pair), of_rank(rank))
    wj.remove_process_set(pair)


def test_ranks_that_differ_are_told(run, rank, size):
    if size == 1:
        pytest.skip("one rank agrees with itself")
    with pytest.raises(Exception, match="Mismatched"):
        jax.block_until_ready(run(lambda x: wj.allreduce(x, name="differs"), jnp.ones(3 + rank)))
    numpy.testing.assert_array_equal(run(lambda x: wj.allreduce(x, wj.Sum), of_rank(rank)), sum(of_all(size)))


def test_bad_arguments_are_named(run):
    with pytest.raises(ValueError, match="complex64 cannot be combined"):
        run(lambda x: wj.allreduce(x), jnp.ones(3, "complex64"))
    with pytest.raises(ValueError, match="has no rows"):
        run(wj.allgather, jnp.float32(1))
    with pytest.raises(ValueError, match="root_rank=99"):
        run(lambda x: wj.broadcast(x, 99), jnp.ones(3))
    with pytest.raises(ValueError, match="not a reduction"):
        run(lambda x: wj.allreduce(x, op=17), jnp.ones(3))
    if wj.size() > 1:
        with pytest.raises(ValueError, match="do not divide"):
            run(wj.alltoall, jnp.ones(wj.size() + 1))


def test_a_rank_without_data_joins(rank, size):
    step = jax.jit(lambda x: wj.allreduce(x, name="joined"))
    for turn in range(2 + rank):
        alive = size if turn < 2 else size - turn + 1
        expected = sum(range(size - alive + 1 if turn >= 2 else 1, size + 1)) / size
        numpy.testing.assert_allclose(step(jnp.float32(rank + 1)), expected, rtol=1e-6)
    assert wj.join() == size - 1


def test_parameters_begin_alike(rank, size):
    tree = {"w": of_rank(rank), "bias": numpy.full(2, rank, "float64"), "key": jax.random.key(rank), "step": rank,
            "half": of_rank(rank, "bfloat16")}
    found = wj.broadcast_parameters(tree, root_rank=size - 1)
    numpy.testing.assert_array_equal(found["w"], of_rank(size - 1))
    numpy.testing.assert_array_equal(found["half"], of_rank(size - 1, "bfloat16"))
    assert found["half"].dtype == "bfloat16" and int(found["step"]) == size - 1
    numpy.testing.assert_array_equal(found["bias"], numpy.full(2, size - 1))
    assert jax.random.key_data(found["key"]).tolist() == jax.random.key_data(jax.random.key(size - 1)).tolist()


def test_objects_and_barriers(rank, size):
    assert wj.allgather_object({"rank": rank}) == [{"rank": other} for other in range(size)]
    assert wj.broadcast_object(rank, size - 1) == size - 1
    wj.barrier()
    assert (wj.rank(), wj.size()) == (hvd.rank(), hvd.size())
