"""Python objects between ranks, also those that plain pickle refuses."""

import threading

import pytest

import weir.torch as hvd


class Named:
    def __init__(self, value):
        self.value = value


def nameless(rank):
    """A lambda over a local variable, a local function, and an instance of a local class."""
    class Local:
        def __init__(self, value):
            self.value = value

        def twice(self):
            return 2 * self.value

    def plus(x):
        return x + rank

    return {"lambda": lambda x: x * 10 + rank, "function": plus, "object": Local(rank),
            "class": Local}


def check(found, rank):
    assert found["lambda"](1) == 10 + rank and found["function"](5) == 5 + rank
    assert found["object"].twice() == 2 * rank and found["class"](21).twice() == 42
    assert type(found["object"]) is found["class"]


def test_what_has_no_name_is_broadcast(rank, size):
    last = size - 1
    check(hvd.broadcast_object(nameless(rank) if rank == last else None, last), last)


def test_what_has_no_name_is_gathered(size, rank):
    found = hvd.allgather_object(nameless(rank))
    assert len(found) == size
    for other, each in enumerate(found):
        check(each, other)


def test_what_has_a_name_is_the_receivers_own(rank):
    for found in hvd.allgather_object([Named(rank), len, nameless]):
        assert type(found[0]) is Named and found[1] is len and found[2] is nameless
    assert type(hvd.broadcast_object(Named(rank))) is Named


def test_a_class_of_the_main_script_is_the_receivers_own(rank, monkeypatch):
    """Programs ask isinstance of what they were sent."""
    import __main__

    kind = type("OfMain", (), {"__module__": "__main__"})
    monkeypatch.setattr(__main__, "OfMain", kind, raising=False)
    assert all(type(found) is kind for found in hvd.allgather_object(kind()))


def test_an_elastic_state_may_hold_functions(rank):
    state = hvd.elastic.TorchState(rule=nameless(rank)["lambda"], made=nameless(rank)["object"])
    state.sync()
    assert state.rule(1) == 10 and state.made.twice() == 0  # Rank 0's.
    state.rule = None
    state.restore()
    assert state.rule(2) == 20


def test_what_cannot_travel_at_all_is_named(size):
    with pytest.raises(TypeError, match="cannot pickle '_thread.lock'"):
        hvd.allgather_object(lambda lock=threading.Lock(): lock)
    assert hvd.allgather_object(1) == [1] * size
