"""The operations of weir.numpy: results, what they take, and what they refuse."""

import numpy
import pytest

import weir.numpy as wn

REDUCED = ["int32", "int64", "float16", "float32", "float64"]


def of_rank(rank, dtype="float32", shape=(3, 4)):
    return (numpy.arange(numpy.prod(shape)).reshape(shape) + 10 * rank).astype(dtype)


def of_all(size, **more):
    return [of_rank(rank, **more) for rank in range(size)]


@pytest.mark.parametrize("dtype", REDUCED)
def test_an_all_reduce_combines_all_ranks_arrays(rank, size, dtype):
    mine = of_rank(rank, dtype)
    expected = sum(of_all(size, dtype=dtype))
    found = wn.allreduce(mine, op=wn.Sum)
    assert found.dtype == mine.dtype and found.shape == mine.shape
    numpy.testing.assert_array_equal(found, expected)
    numpy.testing.assert_array_equal(mine, of_rank(rank, dtype))
    scaled = wn.allreduce(mine.astype("float64"), op=wn.Sum, prescale_factor=2.0, postscale_factor=0.5)
    numpy.testing.assert_array_equal(scaled, expected.astype("float64"))


@pytest.mark.parametrize("op, combine", [(wn.Min, numpy.minimum), (wn.Max, numpy.maximum),
                                         (wn.Product, numpy.multiply)])
def test_other_operations(rank, size, op, combine):
    numpy.testing.assert_array_equal(wn.allreduce(of_rank(rank), op=op), combine.reduce(of_all(size)))


def test_arrays_in_any_order_of_memory(rank, size):
    mine = of_rank(rank)
    mean = sum(of_all(size)) / size
    numpy.testing.assert_allclose(wn.allreduce(mine.T), mean.T)
    numpy.testing.assert_allclose(wn.allreduce(numpy.asfortranarray(mine)), mean)
    numpy.testing.assert_allclose(wn.allreduce(mine[:, ::2]), mean[:, ::2])
    strided = of_rank(rank, shape=(6, 4))[::2]
    expected = sum(of_all(size, shape=(6, 4)))[::2] / size
    assert wn.allreduce_(strided) is strided
    numpy.testing.assert_allclose(strided, expected)


def test_numbers_and_arrays_without_dimensions(rank, size):
    found = wn.allreduce(1.5 * (rank + 1), op=wn.Sum)
    assert found.shape == () and float(found) == 1.5 * size * (size + 1) / 2
    assert int(wn.allreduce(numpy.array(rank), op=wn.Max)) == size - 1
    numpy.testing.assert_array_equal(wn.allgather(rank), numpy.arange(size))
    assert wn.allreduce(numpy.zeros((0, 5))).shape == (0, 5)


def test_a_group_is_one_operation(rank, size):
    arrays = [of_rank(rank), of_rank(rank, "int64"), numpy.float64(rank)]
    found = wn.grouped_allreduce(arrays, op=wn.Sum)
    assert isinstance(found, tuple)
    numpy.testing.assert_array_equal(found[0], sum(of_all(size)))
    numpy.testing.assert_array_equal(found[1], sum(of_all(size, dtype="int64")))
    assert float(found[2]) == size * (size - 1) / 2


def test_a_reduce_scatter_leaves_each_rank_its_rows(rank, size):
    rows = 2 * size + 1
    mine = of_rank(rank, shape=(rows, 3))
    expected = numpy.array_split(sum(of_all(size, shape=(rows, 3))) / size, size)[rank]
    numpy.testing.assert_allclose(wn.reducescatter(mine), expected)


@pytest.mark.parametrize("dtype", REDUCED + ["uint8", "int8", "int16", "bool"])
def test_an_all_gather_takes_rows_of_every_type(rank, size, dtype):
    mine = of_rank(rank, dtype, (rank + 1, 2))
    expected = numpy.concatenate([of_rank(other, dtype, (other + 1, 2)) for other in range(size)])
    found = wn.allgather(mine)
    assert found.dtype == mine.dtype
    numpy.testing.assert_array_equal(found, expected)


def test_a_broadcast_leaves_the_input_alone_and_its_other_form_does_not(rank, size):
    root = size - 1
    mine = of_rank(rank)
    numpy.testing.assert_array_equal(wn.broadcast(mine, root), of_rank(root))
    numpy.testing.assert_array_equal(mine, of_rank(rank))
    part = mine[:, 1:3]
    assert wn.broadcast_(part, root) is part
    numpy.testing.assert_array_equal(mine[:, 1:3], of_rank(root)[:, 1:3])
    numpy.testing.assert_array_equal(mine[:, 0], of_rank(rank)[:, 0])


def test_an_all_to_all_sends_rows_to_each_rank(rank, size):
    splits = [other + 1 for other in range(size)]
    mine = of_rank(rank, shape=(sum(splits), 2))
    found, received = wn.alltoall(mine, splits)
    begin = sum(splits[:rank])
    expected = numpy.concatenate([of_rank(other, shape=mine.shape)[begin:begin + rank + 1] for other in range(size)])
    numpy.testing.assert_array_equal(found, expected)
    numpy.testing.assert_array_equal(received, [rank + 1] * size)
    even = wn.alltoall(of_rank(rank, shape=(size, 2)))
    numpy.testing.assert_array_equal(even, [of_rank(other, shape=(size, 2))[rank] for other in range(size)])


def test_objects_travel_pickled(rank, size):
    assert wn.broadcast_object({"a": [rank]}, size - 1) == {"a": [size - 1]}
    assert wn.allgather_object("x" * rank) == ["x" * other for other in range(size)]


def test_handles_in_any_order(rank, size):
    names = [f"array {i}" for i in range(8)]
    order = names if rank % 2 == 0 else names[::-1]
    handles = {name: wn.allreduce_async(of_rank(rank) * (1 + names.index(name)), name=name, op=wn.Sum)
               for name in order}
    for i, name in enumerate(names):
        numpy.testing.assert_array_equal(wn.synchronize(handles[name]), (i + 1) * sum(of_all(size)))
    with pytest.raises(ValueError, match="was not created or has been cleared"):
        wn.poll(handles[names[0]])


@pytest.mark.parametrize("what, error, said", [
    ([1.0, 2.0], TypeError, "expected an array of NumPy or CuPy"),
    ("text", TypeError, "expected an array"),
    (numpy.zeros(3, complex), ValueError, "complex128 cannot be combined"),
    (numpy.zeros(3, numpy.uint8), ValueError, "uint8 cannot be combined"),
    (numpy.zeros(3, ">f4"), ValueError, "byte order"),
    (numpy.array([None]), ValueError, "object cannot be combined"),
])
def test_what_cannot_be_combined_is_refused_by_name(what, error, said):
    with pytest.raises(error, match=said):
        wn.allreduce(what)
    if error is TypeError or what.dtype.name in ("complex128", "object"):
        with pytest.raises(error):
            wn.allgather(what)


def test_wrong_calls_are_refused(size):
    fixed = numpy.zeros(3, numpy.float32)
    fixed.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        wn.allreduce_(fixed)
    with pytest.raises(ValueError, match="read-only"):
        wn.broadcast_(fixed, 0)
    with pytest.raises(TypeError, match="a result is written to an array"):
        wn.allreduce_(1.0)
    with pytest.raises(ValueError, match="at least one array"):
        wn.grouped_allreduce([])
    with pytest.raises(ValueError, match="Average and Sum"):
        wn.reducescatter(numpy.zeros((size, 2)), op=wn.Max)
    with pytest.raises(ValueError, match="whole numbers"):
        wn.alltoall(numpy.zeros((size, 2)), [0.5] * size)
    with pytest.raises(ValueError, match="root"):
        wn.broadcast(numpy.zeros(3), size)


def test_ranks_that_disagree_all_hear_of_it(rank, size):
    if size == 1:
        pytest.skip("one rank agrees with itself")
    with pytest.raises(wn.Mismatch, match="shape"):
        wn.allreduce(numpy.zeros(3 + rank % 2), name="of two shapes")
    assert float(wn.allreduce(1.0, op=wn.Sum)) == size
