"""Blocks of a run log (docs/reference/run-log.md), in files and from the endpoint /log."""

import json
import struct
import zlib
from typing import Any, Dict, NamedTuple, Optional

import numpy

Table = Dict[str, "numpy.ndarray[Any, Any]"]

_MAGIC = b"WLOG"
_VERSION = 1
_PREFIX = struct.Struct("<4sIIIIIQ")
_CHECKED_PREFIX_BYTES = 20
_LONGEST_HEAD = 1 << 20
_TYPES = ("<i8", "<u8", "<u4", "<f4", "|u1")


class Block(NamedTuple):
    head: Dict[str, Any]
    body: memoryview
    end: int  # Offset of the byte after it.


class Damaged(Exception):
    """`end`: begin of the next block, if that is known."""

    def __init__(self, why: str, end: Optional[int] = None):
        super().__init__(why)
        self.end = end


def block_at(data: memoryview, at: int) -> Block:
    """Raises Damaged."""
    if len(data) - at < _PREFIX.size:
        raise Damaged("the file ends in the middle of a block")
    magic, version, head_bytes, body_bytes, body_crc, head_crc, _ = _PREFIX.unpack_from(data, at)
    if magic != _MAGIC or head_bytes > _LONGEST_HEAD:
        raise Damaged("no block begins here")
    body = at + _PREFIX.size + head_bytes
    end = body + body_bytes
    if body > len(data):
        raise Damaged("the file ends in the middle of a block")
    head = data[at + _PREFIX.size:body]
    if zlib.crc32(head, zlib.crc32(data[at:at + _CHECKED_PREFIX_BYTES])) != head_crc:
        raise Damaged("the checksum of a block's head is wrong")
    if version != _VERSION:
        raise ValueError(f"the run log has version {version}; this Weir reads version {_VERSION}")
    if end > len(data):
        raise Damaged("the file ends in the middle of a block")
    if zlib.crc32(data[body:end]) != body_crc:
        raise Damaged("the checksum of a block is wrong", end)
    return Block(json.loads(bytes(head)), data[body:end], end)


def next_magic(data: memoryview, at: int) -> int:
    """Returns the offset of the next place where a block may begin, or of the end."""
    window = 1 << 20
    while at < len(data):
        found = bytes(data[at:at + window + len(_MAGIC) - 1]).find(_MAGIC)
        if found >= 0:
            return at + found
        at += window
    return len(data)


def _padded(count: int) -> int:
    return (count + 7) // 8 * 8


def columns_of(block: Block) -> Table:
    rows, at, columns = block.head["rows"], 0, {}
    for name, kind in block.head["columns"]:
        if kind not in _TYPES:
            raise ValueError(f"column {name!r} has the type {kind!r}; known are {', '.join(_TYPES)}")
        columns[name] = numpy.frombuffer(block.body, kind, rows, at)
        at += _padded(columns[name].nbytes)
    return columns


def text_of(block: Block) -> Any:
    return json.loads(bytes(block.body[:block.head["text_bytes"]]))
