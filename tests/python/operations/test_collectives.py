"""Every operation on every data type, against what torch computes of all ranks' tensors."""

import pytest
import torch

import weir.torch as hvd

REDUCED = [torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float32, torch.float64]
MOVED = REDUCED + [torch.uint8, torch.int8, torch.int16, torch.bool]


def of_rank(rank, dims, dtype):
    """A tensor that every rank can compute for every other."""
    generator = torch.Generator().manual_seed(1234 + rank)
    return torch.randint(-20, 20, [5] * dims, generator=generator).to(dtype)


def all_of(size, dims, dtype):
    return [of_rank(rank, dims, dtype) for rank in range(size)]


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("dtype", REDUCED)
def test_allreduce_sums(rank, size, dims, dtype):
    expected = torch.stack(all_of(size, dims, torch.float64)).sum(0).to(dtype)
    mine = of_rank(rank, dims, dtype)
    assert torch.equal(hvd.allreduce(mine, op=hvd.Sum), expected)
    assert torch.equal(mine, of_rank(rank, dims, dtype)), "the input was changed"
    assert torch.equal(hvd.synchronize(hvd.allreduce_async(mine, op=hvd.Sum)), expected)
    assert hvd.allreduce_(mine, op=hvd.Sum) is mine
    assert torch.equal(mine, expected)


@pytest.mark.parametrize("dtype", REDUCED)
def test_allreduce_averages_and_truncates_integers(rank, size, dtype):
    total = torch.stack(all_of(size, 2, torch.float64)).sum(0)
    average = total / size
    expected = average.trunc().to(dtype) if not dtype.is_floating_point else average.to(dtype)
    found = hvd.allreduce(of_rank(rank, 2, dtype))
    if dtype.is_floating_point:
        torch.testing.assert_close(found, expected)
    else:
        assert torch.equal(found, expected)


@pytest.mark.parametrize("op,torch_op", [(hvd.Min, torch.amin), (hvd.Max, torch.amax),
                                         (hvd.Product, torch.prod)])
@pytest.mark.parametrize("dtype", REDUCED)
def test_allreduce_min_max_product(rank, size, op, torch_op, dtype):
    # Small enough for their products to be exact in 16 bits.
    values = [tensor.clamp(-3, 3) for tensor in all_of(size, 2, torch.float64)]
    expected = torch_op(torch.stack(values), 0).to(dtype)
    assert torch.equal(hvd.allreduce(values[rank].to(dtype), op=op), expected)


@pytest.mark.parametrize("dtype", REDUCED)
def test_allreduce_scales_before_and_after(rank, size, dtype):
    scaled = [tensor * 0.5 for tensor in all_of(size, 2, torch.float64)]
    if not dtype.is_floating_point:
        scaled = [tensor.trunc() for tensor in scaled]
    expected = torch.stack(scaled).sum(0) * 3.0
    found = hvd.allreduce(of_rank(rank, 2, dtype), op=hvd.Sum, prescale_factor=0.5,
                          postscale_factor=3.0)
    assert torch.equal(found, expected.to(dtype))


@pytest.mark.parametrize("compression", [hvd.Compression.fp16, hvd.Compression.bf16])
def test_allreduce_casts_on_the_way(rank, size, compression):
    mine = torch.full((4,), 1.0 + 2.0**-14)
    found = hvd.allreduce(mine, compression=compression, op=hvd.Sum)
    assert found.dtype == torch.float32
    assert torch.equal(found, torch.full((4,), float(size)))  # The last bits did not travel.


def test_average_and_op_exclude_each_other():
    with pytest.raises(ValueError, match="The op parameter supersedes average"):
        hvd.allreduce(torch.ones(2), average=True, op=hvd.Sum)


def test_an_unknown_operation_is_refused_before_anything_is_sent(size):
    with pytest.raises(ValueError, match="op=7 is not a reduction"):
        hvd.allreduce(torch.ones(2), op=7)
    assert hvd.allreduce(torch.ones(1), op=hvd.Sum) == size


def test_average_alone_is_deprecated(size):
    with pytest.warns(DeprecationWarning):
        assert hvd.allreduce(torch.ones(1), average=False) == size


def test_many_operations_in_flight_in_any_order(rank, size):
    count = 50
    order = torch.randperm(count, generator=torch.Generator().manual_seed(rank)).tolist()
    handles = {i: hvd.allreduce_async(torch.full((i + 1,), float(i)), name=f"flight{i}",
                                      op=hvd.Sum) for i in order}
    for i in range(count):
        assert torch.equal(hvd.synchronize(handles[i]), torch.full((i + 1,), float(i * size)))


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("dtype", MOVED)
def test_allgather_concatenates_what_differs_in_length(rank, size, dims, dtype):
    def rows(r):
        return of_rank(r, dims, dtype)[:(r + 1) % 5]
    found = hvd.allgather(rows(rank))
    assert found.dtype == dtype
    assert torch.equal(found, torch.cat([rows(r) for r in range(size)]))


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("dtype", MOVED)
def test_broadcast_from_every_root(rank, size, dims, dtype):
    for root in range(size):
        mine = of_rank(rank, dims, dtype)
        found = hvd.broadcast(mine, root)
        assert torch.equal(found, of_rank(root, dims, dtype))
        assert torch.equal(mine, of_rank(rank, dims, dtype)), "the input was changed"
        assert hvd.broadcast_(mine, root) is mine
        assert torch.equal(mine, found)


def test_broadcast_refuses_a_root_that_does_not_exist(size):
    with pytest.raises(ValueError, match=f"root_rank={size}"):
        hvd.broadcast(torch.ones(1), size)


def split_rows(sender, receiver):
    """How many rows one rank sends to another."""
    return (2 * sender + receiver) % 3


def rows_between(sender, receiver, dims, dtype):
    rows = of_rank(10 * sender + receiver, dims, dtype)
    return rows[:split_rows(sender, receiver)]


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("dtype", MOVED)
def test_alltoall_with_splits(rank, size, dims, dtype):
    mine = torch.cat([rows_between(rank, other, dims, dtype) for other in range(size)])
    splits = torch.tensor([split_rows(rank, other) for other in range(size)], dtype=torch.int32)
    output, received = hvd.alltoall(mine, splits)
    assert torch.equal(output, torch.cat([rows_between(other, rank, dims, dtype)
                                          for other in range(size)]))
    assert received.dtype == torch.int32
    assert received.tolist() == [split_rows(other, rank) for other in range(size)]
    again, _ = hvd.synchronize(hvd.alltoall_async(mine, splits))
    assert torch.equal(again, output)


def test_alltoall_without_splits_divides_evenly(rank, size):
    mine = torch.arange(2 * size) + 100 * rank
    found = hvd.alltoall(mine)
    assert found.tolist() == [100 * other + 2 * rank + i for other in range(size)
                              for i in range(2)]


def test_alltoall_may_keep_rows_back(rank, size):
    splits = torch.ones(size, dtype=torch.int32)
    output, _ = hvd.alltoall(torch.arange(size + 3) + 100 * rank, splits)
    assert output.tolist() == [100 * other + rank for other in range(size)]


@pytest.mark.parametrize("splits,text", [
    (lambda n: torch.ones(n + 1, dtype=torch.int32),
     "Number of entries in splits does not equal number of workers"),
    (lambda n: torch.full((n,), 4, dtype=torch.int32),
     "Sum of splits entries is greater than the first dimension of tensor"),
    (lambda n: torch.ones(n), "alltoall expects splits to contain 32-bit integer elements"),
    (lambda n: torch.full((n,), -1, dtype=torch.int32), "splits"),
])
def test_splits_that_do_not_fit(size, splits, text):
    with pytest.raises(ValueError, match=text):
        hvd.alltoall(torch.ones(3), splits(size))


def test_rows_that_do_not_divide(size):
    if size == 1:
        pytest.skip("one divides everything")
    with pytest.raises(ValueError, match="splits not provided, but first dimension of tensor is "
                                         "not an even multiple of the number of workers"):
        hvd.alltoall(torch.ones(size + 1))


def part_of(rank, size, whole):
    """The rows that a reduce-scatter leaves a rank."""
    each, more = divmod(len(whole), size)
    begin = rank * each + min(rank, more)
    return whole[begin:begin + each + (rank < more)]


@pytest.mark.parametrize("rows", [0, 1, 5, 8])
@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("dtype", REDUCED)
def test_reducescatter(rank, size, rows, dims, dtype):
    def rows_of(r):
        return torch.cat([of_rank(r, dims, dtype), of_rank(r + 50, dims, dtype)])[:rows]
    whole = torch.stack([rows_of(r) for r in range(size)]).double().sum(0)
    found = hvd.reducescatter(rows_of(rank), op=hvd.Sum)
    assert torch.equal(found, part_of(rank, size, whole).to(dtype))
    scaled = hvd.synchronize(hvd.reducescatter_async(rows_of(rank), prescale_factor=2.0))
    everywhere = hvd.allreduce(rows_of(rank), prescale_factor=2.0)
    assert torch.equal(scaled, part_of(rank, size, everywhere))


def test_reducescatter_is_for_sums():
    with pytest.raises(ValueError, match="for Average and Sum, not for Max"):
        hvd.reducescatter(torch.ones(4), op=hvd.Max)


def test_objects(rank, size):
    mine = {"rank": rank, "list": list(range(rank))}
    assert hvd.allgather_object(mine) == [
        {"rank": r, "list": list(range(r))} for r in range(size)]
    assert hvd.broadcast_object(mine if rank == size - 1 else None, size - 1)["rank"] == size - 1


# --- handles ---


def test_poll_and_synchronize(size):
    handle = hvd.allreduce_async(torch.ones(3), op=hvd.Sum)
    assert isinstance(handle, int)
    while not hvd.poll(handle):
        pass
    assert torch.equal(hvd.synchronize(handle), torch.full((3,), float(size)))
    assert hvd.synchronize(handle) is None
    with pytest.raises(ValueError, match=str(handle)):
        hvd.poll(handle)


# --- what cannot be ---


def test_unsupported_types():
    with pytest.raises(ValueError, match="Tensor type .* is not supported"):
        hvd.allreduce(torch.ones(2, dtype=torch.complex64))
    with pytest.raises(ValueError, match="Tensor type .* is not supported"):
        hvd.allreduce(torch.ones(2, dtype=torch.uint8))


def test_a_name_under_way_is_refused(rank, size):
    if size == 1:
        pytest.skip("alone, an operation may be done before the next one")
    other = hvd.allreduce_async(torch.ones(1), name="other") if rank == 0 else None
    if rank == 0:  # Nobody else has submitted it: it is under way for sure.
        with pytest.raises(ValueError, match="Requested to allreduce, allgather, or broadcast a "
                                             "tensor with the same name"):
            hvd.allreduce_async(torch.ones(1), name="other")
    hvd.barrier()
    if rank != 0:
        other = hvd.allreduce_async(torch.ones(1), name="other")
    assert hvd.synchronize(other) == 1


MISMATCHES = {
    "Mismatched data types: One rank had type float32, but another rank had type float64":
        lambda rank: hvd.allreduce_async(
            torch.ones(2, dtype=torch.float64 if rank else torch.float32), name="bad"),
    r"Mismatched ALLREDUCE tensor shapes: One rank sent a tensor of shape \[2\]":
        lambda rank: hvd.allreduce_async(torch.ones(2 + rank), name="bad"),
    "Mismatched reduction operation: One rank sent reduction op 1":
        lambda rank: hvd.allreduce_async(torch.ones(2), name="bad",
                                         op=hvd.Max if rank else hvd.Sum),
    "Mismatched prescale and/or postscale factors":
        lambda rank: hvd.allreduce_async(torch.ones(2), name="bad", prescale_factor=rank + 1.0),
    "Mismatched ALLGATHER tensor shapes: One rank sent a tensor with dimension 1 equal to 2":
        lambda rank: hvd.allgather_async(torch.ones(2, 2 + rank), name="bad"),
    "Mismatched BROADCAST root ranks: One rank specified root rank 0":
        lambda rank: hvd.broadcast_async(torch.ones(2), min(rank, 1), name="bad"),
}


@pytest.mark.parametrize("text", MISMATCHES)
def test_ranks_that_disagree_are_told_and_go_on(rank, size, text):
    if size == 1:
        pytest.skip("nobody to disagree with")
    with pytest.raises(hvd.HorovodInternalError, match=text) as error:
        hvd.synchronize(MISMATCHES[text](rank))
    assert isinstance(error.value, hvd.Mismatch)
    assert error.value.ranks[0] == 0 and error.value.tensor.endswith(".bad")
    assert hvd.allreduce(torch.ones(1), name="good", op=hvd.Sum) == size


def test_numbers_are_gathered_to_a_vector(rank, size):
    number = torch.tensor(float(rank), requires_grad=True)
    gathered = hvd.allgather(number)
    assert gathered.tolist() == list(range(size))
    (gathered * torch.arange(1.0, size + 1)).sum().backward()
    assert number.grad == rank + 1  # The mean over ranks, each of which has the same.
    assert hvd.grouped_allgather([number, number])[1].tolist() == list(range(size))


LAYOUTS = {
    "transposed": lambda: torch.arange(24.0).reshape(4, 6).t(),
    "strided": lambda: torch.arange(24.0)[::2],
    "expanded": lambda: torch.arange(3.0)[:, None].expand(3, 4),
    "channels last": lambda: torch.arange(120.0).reshape(2, 3, 4, 5).contiguous(
        memory_format=torch.channels_last),
}
OPERATIONS = {
    "allreduce": lambda t: hvd.allreduce(t, op=hvd.Sum),
    "grouped_allreduce": lambda t: hvd.grouped_allreduce([t, t], op=hvd.Sum)[1],
    "allgather": hvd.allgather,
    "grouped_allgather": lambda t: hvd.grouped_allgather([t])[0],
    "broadcast": lambda t: hvd.broadcast(t, 0),
    "alltoall": lambda t: hvd.alltoall(t, torch.tensor([t.shape[0]] + [0] * (hvd.size() - 1)))[0],
    "reducescatter": lambda t: hvd.reducescatter(t, op=hvd.Sum),
    "grouped_reducescatter": lambda t: hvd.grouped_reducescatter([t], op=hvd.Sum)[0],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", OPERATIONS)
def test_tensors_of_any_layout(name, layout):
    tensor = LAYOUTS[layout]()
    assert torch.equal(OPERATIONS[name](tensor), OPERATIONS[name](tensor.contiguous()))


@pytest.mark.parametrize("layout", ["transposed", "strided", "channels last"])
def test_results_in_place_of_tensors_of_any_layout(rank, size, layout):
    def filled():
        return LAYOUTS[layout]().mul_(rank + 1)
    total = LAYOUTS[layout]() * sum(range(1, size + 1))
    one, first, second = filled(), filled(), filled()
    assert hvd.allreduce_(one, op=hvd.Sum) is one
    assert hvd.grouped_allreduce_([first, second], op=hvd.Sum)[0] is first
    for tensor in (one, first, second):
        assert torch.equal(tensor, total)
    tensor = filled()
    assert hvd.broadcast_(tensor, size - 1) is tensor
    assert torch.equal(tensor, LAYOUTS[layout]() * size)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int16, torch.int32, torch.int64])
def test_splits_are_integers_of_any_width(rank, size, dtype):
    output, received = hvd.alltoall(torch.arange(size), torch.ones(size, dtype=dtype))
    assert output.tolist() == [rank] * size and received.tolist() == [1] * size


def test_a_job_can_be_left_and_joined_again(rank, size):
    hvd.shutdown()
    assert not hvd.is_initialized()
    with pytest.raises(ValueError, match="Horovod has not been initialized; use hvd.init()"):
        hvd.rank()
    hvd.init()
    assert (hvd.rank(), hvd.size()) == (rank, size)
    assert hvd.allreduce(torch.ones(1), op=hvd.Sum) == size
