"""Bytes that each route hands to the transport, counted from docs/wire-format.md and the entries that
ranks choose. Nothing here asks the engine: its counter is checked against this."""

import math
from typing import List, NamedTuple, Sequence

import numpy

HEADER, LENGTH, FP16, FP32 = 49, 4, 2, 4  # HEADER: a bucket's frame header and first byte.
SMALL, ALIGNED, WHOLE = 1024, 64, 4096
PARTITION = 4_096_000 // FP32  # Elements.


class Tensor(NamedTuple):
    name: str
    shape: tuple

    @property
    def elements(self):
        return math.prod(self.shape)

    @property
    def travels_dense(self):
        return len(self.shape) == 1 or self.elements < SMALL


def buckets(tensors):
    """Numbers of the tensors in each bucket: the last tensor first, large ones alone, small ones
    together until they are an eighth of all."""
    target = max(sum(tensor.elements for tensor in tensors) * FP32 // 8, 1 << 20)
    found, small, filled = [], None, 0
    for i in range(len(tensors))[::-1]:
        size = tensors[i].elements * FP32
        if size >= target:
            found.append([i])
            continue
        if small is None:
            small, filled = [], 0
            found.append(small)
        small.append(i)
        filled += size
        if filled >= target:
            small = None
    return found


class Case(NamedTuple):
    """One step of one job. `chosen`: by rank and tensor, the entries it sends, as booleans; only a
    split gather needs them."""

    tensors: Sequence[Tensor]
    hosts: int
    ranks_on_host: int
    density: float
    chosen: Sequence[Sequence[numpy.ndarray]] = ()

    @property
    def ranks(self):
        return self.hosts * self.ranks_on_host


def entries(n, density):
    """K of a tensor."""
    return min(n, max(1, math.floor(density * n + 0.5)))


def index_bytes(n, k):
    if k == 0:
        return 0
    low = (n // k).bit_length() - 1
    elias_fano = -(-k * low // 8) + -(-(k + ((n - 1) >> low)) // 8)
    return min(-(-n // 8), elias_fano)


def sparse_part(n, k, width):
    return 6 + index_bytes(n, k) + k * width


def dense_part(n, width):
    return 2 + n * width


def frame(tensors, density):
    """Returns the bytes of a rank's frame; parts have the expected sizes."""
    return HEADER + sum(
        dense_part(tensor.elements, FP16) if tensor.travels_dense
        else sparse_part(tensor.elements, entries(tensor.elements, density), FP16)
        for tensor in tensors)


def _others(ranks, rank):
    return [other for other in range(ranks) if other != rank]


def all_gather(case, rank):
    """[bytes from this rank to each], as all of these functions return."""
    size = sum(frame([case.tensors[i] for i in bucket], case.density)
               for bucket in buckets(case.tensors))
    return [0 if other == rank else size for other in range(case.ranks)]


def _all_reduce(elements, ranks, rank, small_goes_whole):
    """All-reduce of fp32: each rank sends the others' parts to them, and the result of its own to all."""
    if small_goes_whole and elements * FP32 <= WHOLE:
        return [0 if other == rank else elements * FP32 for other in range(ranks)]
    unit = ALIGNED // FP32
    part = -(-(-(-elements // unit)) // ranks) * unit
    ends = [min(elements, i * part) for i in range(ranks + 1)]
    parts = [(end - begin) * FP32 for begin, end in zip(ends, ends[1:])]
    return [0 if other == rank else parts[other] + parts[rank] for other in range(ranks)]


def _added(rows):
    return [sum(column) for column in zip(*rows)]


def dense(case, rank):
    return _added(_all_reduce(sum(case.tensors[i].elements for i in bucket), case.ranks, rank, True)
                  for bucket in buckets(case.tensors))


def hierarchical(case, rank):
    """An average on each host; one frame from each host's first rank to the others', which hand all
    frames on. Ranks of a host follow each other."""
    host, place = divmod(rank, case.ranks_on_host)
    sent = [0] * case.ranks
    first = host * case.ranks_on_host
    for bucket in buckets(case.tensors):
        tensors = [case.tensors[i] for i in bucket]
        average = _all_reduce(sum(tensor.elements for tensor in tensors), case.ranks_on_host, place,
                              False)
        for other, size in enumerate(average):
            sent[first + other] += size
        if place == 0:
            size = frame(tensors, case.density)
            for other in _others(case.hosts, host):
                sent[other * case.ranks_on_host] += size
            for other in range(1, case.ranks_on_host):
                sent[first + other] += case.hosts * size
    return sent


class _Piece(NamedTuple):
    """A tensor's elements in an owner's range."""

    tensor: int
    begin: int
    end: int


def _pieces(tensors, bucket, ranks, owner) -> List[_Piece]:
    total = sum(tensors[i].elements for i in bucket)
    most, extra = divmod(total, ranks)
    begin = most * owner + min(owner, extra)
    end = begin + most + (owner < extra)
    found, at = [], 0
    for i in bucket:
        n = tensors[i].elements
        inside = _Piece(i, max(begin - at, 0), min(end - at, n))
        if inside.begin < inside.end:
            found.append(inside)
        at += n
    return found


def _entry_part(n, k, width):
    """A sparse part, or a dense one if that is not longer."""
    return min(sparse_part(n, k, width), dense_part(n, width))


def _frame_of_pieces(pieces, counts, width):
    sizes = [_entry_part(piece.end - piece.begin, k, width) for piece, k in zip(pieces, counts)]
    most = [dense_part(piece.end - piece.begin, width) for piece in pieces]
    return HEADER + sum(sizes) + (0 if sizes == most else LENGTH * len(pieces))


def _count(mask):
    return int(numpy.count_nonzero(mask))


def _sent_of(case, rank, piece):
    """Returns the elements of a piece in a rank's part: all of it, when it is a dense one."""
    n = piece.end - piece.begin
    if case.tensors[piece.tensor].travels_dense:
        return numpy.ones(n, bool)
    chosen = case.chosen[rank][piece.tensor][piece.begin:piece.end]
    whole = _entry_part(n, _count(chosen), FP16) == dense_part(n, FP16)
    return numpy.ones(n, bool) if whole else chosen


def split(case, rank):
    """To each owner its range's part of the entries; from each owner the sums of its range."""
    sent = [0] * case.ranks
    for bucket in buckets(case.tensors):
        for other in _others(case.ranks, rank):
            pieces = _pieces(case.tensors, bucket, case.ranks, other)
            counts = [_count(_sent_of(case, rank, piece)) for piece in pieces]
            sent[other] += _frame_of_pieces(pieces, counts, FP16)
        own = _pieces(case.tensors, bucket, case.ranks, rank)
        unions = [_count(numpy.logical_or.reduce(
            [_sent_of(case, sender, piece) for sender in range(case.ranks)])) for piece in own]
        for other in _others(case.ranks, rank):
            sent[other] += _frame_of_pieces(own, unions, FP32)
    return sent


def _partitions(tensors):
    for tensor in tensors:
        count = -(-tensor.elements // PARTITION)
        most, longer = divmod(tensor.elements, count)
        for part in range(count):
            shape = (1, most + (part < longer)) if count > 1 else tensor.shape
            yield Tensor(f"{tensor.name}#{part}", shape)


def push_pull(case, rank):
    """Parts have their servers in turn; a server's answer is as long as a push."""
    parts = list(_partitions(case.tensors))
    sent = [0] * case.ranks
    for bucket in buckets(parts):
        for server in sorted({i % case.ranks for i in bucket}):
            size = frame([parts[i] for i in bucket if i % case.ranks == server], case.density)
            for other in _others(case.ranks, rank) if server == rank else [server]:
                sent[other] += size
    return sent


def between_hosts(sent, rank, ranks_on_host):
    """Returns the part of `sent` that goes to ranks of other hosts."""
    host = rank // ranks_on_host
    return sum(size for other, size in enumerate(sent) if other // ranks_on_host != host)
