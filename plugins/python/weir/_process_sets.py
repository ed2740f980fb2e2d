"""Sets of ranks that exchange among themselves, beside the whole job."""

import array
import itertools
import numbers
import threading
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Tuple, Union

from weir import _communicators, _job, _topology
from weir.errors import InvalidArgument

_UNKNOWN = "Process set provided does not exist, or has not been registered."


class ProcessSet:
    """Ranks of the job, for the argument ``process_set`` of operations, once registered: given to
    ``init(process_sets=[...])`` or ``add_process_set``.

    Attributes: ``ranks``, ascending; ``process_set_id``, None while it is not registered;
    ``mpi_comm``, the communicator that it was made of, otherwise None.

    A communicator of mpi4py may be one of several that ``Split`` has made, another one on other
    ranks: they are registered, and removed, together. So are process groups of torch.distributed, whose
    ranks must have the same numbers there. The engine only takes their ranks.
    """

    def __init__(self, ranks_or_comm: Any) -> None:
        """Raises ValueError for anything but a list of ranks or a communicator. Registration checks
        that the job has the ranks."""
        self.mpi_comm: Any = None
        # Other ranks register other sets at the same time.
        self.one_of_several = False
        # While registered: the ids of all sets that were registered with it.
        self._ids: List[int] = []
        if _communicators.is_communicator(ranks_or_comm):
            self.mpi_comm, self.one_of_several = ranks_or_comm, True
            ranks_or_comm = _communicators.ranks_of(ranks_or_comm)
        elif _communicators.is_process_group(ranks_or_comm):
            self.one_of_several = True
            ranks_or_comm = _communicators.ranks_of_group(ranks_or_comm)
        try:
            self._ranks = sorted(rank.__index__() for rank in ranks_or_comm)
        except (AttributeError, TypeError):
            raise ValueError(f"ProcessSet({ranks_or_comm!r}): give the ranks of the job, as a list "
                             "of numbers, a communicator of mpi4py or a process group of "
                             "torch.distributed") from None
        self.process_set_id: Optional[int] = None
        self._counters: Dict[str, Iterator[int]] = {}
        self._operations: Dict[str, Iterator[int]] = {}
        self._joins = 0  # Number of times that all members have joined.

    @property
    def ranks(self) -> List[int]:
        """The members, ascending."""
        return list(self._ranks)

    def _renumber(self, ranks: List[int]) -> None:
        """Replaces the members of a set that is not registered, as ranks have been dealt anew."""
        self._ranks, self.mpi_comm, self.one_of_several = sorted(ranks), None, False

    def size(self) -> Optional[int]:
        """Number of members; None while it is not registered."""
        return len(self.ranks) if self.process_set_id is not None else None

    def rank(self) -> Optional[int]:
        """Number of this rank among the members, from 0; None if it is not a member, and while the set
        is not registered."""
        return self.ranks.index(_job.rank()) if self.included() else None

    def included(self) -> Optional[bool]:
        """True if this rank is a member; None while the set is not registered."""
        return _job.rank() in self.ranks if self.process_set_id is not None else None

    def _check_registered(self, operation: str) -> int:
        """Returns the id. Raises ValueError when there is none."""
        if self.process_set_id is None:
            raise InvalidArgument(f"{operation}: {_UNKNOWN} ({self})")
        return self.process_set_id

    def _check_root(self, root_rank: int) -> None:
        """Raises ValueError when that rank of the job is not a member."""
        if root_rank not in self.ranks or not isinstance(root_rank, numbers.Integral):
            raise InvalidArgument(f"broadcast from root_rank={root_rank!r}: the ranks of the process "
                                  f"set are {self.ranks}")

    def _next_number(self, kind: str) -> int:
        """Numbers operations without a name. Members that do the same count the same, whatever they do
        in other sets."""
        return next(self._counters.setdefault(kind, itertools.count()))

    def _next_operation(self, kind: str) -> str:
        """Numbers operations without a name in the same way."""
        number = next(self._operations.setdefault(kind, itertools.count()))
        return f"{self._joins}.{number}" if self._joins else str(number)

    def _renumber_operations(self) -> None:
        """Numbers them from 0 again, apart from earlier ones: members have done different ones."""
        self._joins += 1
        self._operations.clear()

    def _forget_operations(self) -> None:
        """Numbers them from 0 again in another job: in one that fails, members do different ones."""
        self._joins = 0
        self._operations.clear()

    def __deepcopy__(self, _: Any) -> "ProcessSet":
        # A copied module continues with the set; a copied set would not learn of its removal.
        return self

    def __reduce__(self) -> Any:
        # A saved set may be loaded in another job, in which the id means another set.
        return ProcessSet, (self.ranks,)

    def __repr__(self) -> str:
        return f"ProcessSet(process_set_id={self.process_set_id}, ranks={self._ranks})"


class _GlobalProcessSet(ProcessSet):
    """All ranks; registered as long as there is a job."""

    def __init__(self) -> None:
        super().__init__([])
        self.process_set_id = 0

    @property
    def ranks(self) -> List[int]:
        return list(range(_job.size()))

    def __reduce__(self) -> Any:
        return "global_process_set"

    def __repr__(self) -> str:
        return "global_process_set"


def expect(process_set: Any) -> None:
    """Raises TypeError for anything but a process set."""
    if not isinstance(process_set, ProcessSet):
        raise TypeError(f"process_set={process_set!r:.60} is not a ProcessSet; give what "
                        "add_process_set returned, or leave it out")


def id_for(process_set: ProcessSet, operation: str) -> int:
    """Returns the set's id. Raises ValueError when this rank cannot take part in an operation of it,
    TypeError for anything but a set."""
    expect(process_set)
    set_id = process_set._check_registered(operation)
    if not process_set.included():
        raise InvalidArgument(f"{operation}: Rank {_job.rank()} is not a member of the provided "
                              f"process set. ({process_set})")
    return set_id


global_process_set: ProcessSet = _GlobalProcessSet()

_lock = threading.Lock()
_registered: List[ProcessSet] = []  # In the order of their ids.
# On a rank that has come to an elastic job: sets that its program has not added yet.
_adopted: List[ProcessSet] = []


def add_process_set(process_set: Union[ProcessSet, Iterable[int]]) -> ProcessSet:
    """Registers a set, given as such, as its ranks or as a process group, and returns it. Collective over the whole job,
    members or not: every rank adds the same sets in the same order. Blocks until all do.

    It may be called at any time, without preparation (HOROVOD_DYNAMIC_PROCESS_SETS is accepted without
    effect).

    Raises ValueError for ranks that the job does not have, a repeated rank, an empty set, a set that is
    registered already, or ranks that another set has; Mismatch where ranks differ.
    """
    if not isinstance(process_set, ProcessSet):
        process_set = ProcessSet(process_set)
    if process_set.process_set_id is not None:
        raise InvalidArgument(f"add_process_set: {process_set} is registered already")
    if _adopted:
        return _replace(_adopted.pop(0), process_set)
    return _add(process_set)


def _add(process_set: ProcessSet) -> ProcessSet:
    engine = _job.engine()
    together = _communicators.together(engine, process_set.ranks, process_set.one_of_several)
    ids: List[int] = []
    try:
        for ranks in together:
            ids.append(engine.add_process_set(ranks))
    except Exception:
        for each in ids:  # All of them or none. The error came to all ranks.
            engine.remove_process_set(each)
        raise
    process_set._ids = ids
    process_set.process_set_id = ids[together.index(process_set.ranks)]
    with _lock:
        _registered.append(process_set)
    return process_set


Members = List[Tuple[ProcessSet, List[int]]]


def enter_epoch(members: Members) -> None:
    """Registers the sets that an elastic job had before its ranks were dealt anew: given with the ranks
    that they had then, in the order of their registration, on those that were there. A set keeps the
    members that are left; without any it is not registered. Sets that have come to have the same ranks,
    perhaps all of them, share an id. On a rank that is new, the sets that its program adds become these,
    one after the other. Collective."""
    now = {former: rank for rank, former in enumerate(_job.former_ranks()) if former is not None}
    lists = _told_by_rank_0([sorted(now[rank] for rank in ranks if rank in now) for _, ranks in members])
    _adopted.clear()
    for number, ranks in enumerate(lists):
        # Where a rank was lost amid their registration, some ranks have fewer than others.
        process_set = members[number][0] if number < len(members) else ProcessSet(ranks)
        process_set._renumber(ranks)
        _register_again(process_set)
        if not members:
            _adopted.append(process_set)


def _register_again(process_set: ProcessSet) -> None:
    others = (global_process_set, *registered())
    twin = next((other for other in others if other.ranks == process_set.ranks), None)
    if twin is None and process_set.ranks:
        _add(process_set)
        return
    process_set.process_set_id = None if twin is None else twin.process_set_id
    with _lock:
        _registered.append(process_set)


def _told_by_rank_0(lists: List[List[int]]) -> List[List[int]]:
    """Returns rank 0's lists of numbers. Collective."""
    engine = _job.engine()
    flat = [len(lists), *(number for each in lists for number in (len(each), *each))]
    size = array.array("q", [len(flat) if engine.rank == 0 else 0])
    _topology.summed(engine, "weir.sets.size", size)
    table = array.array("q", flat if engine.rank == 0 else [0] * size[0])
    _topology.summed(engine, "weir.sets", table)
    numbers = iter(table[1:])
    return [list(itertools.islice(numbers, next(numbers))) for _ in range(table[0])]


def _replace(adopted: ProcessSet, process_set: ProcessSet) -> ProcessSet:
    """Puts the program's own set in the place of one that the job had before this rank came."""
    process_set._renumber(adopted.ranks)
    process_set._ids, process_set.process_set_id = adopted._ids, adopted.process_set_id
    with _lock:
        if adopted in _registered:
            _registered[_registered.index(adopted)] = process_set
    return process_set


_before_removing: List[Callable[[ProcessSet], None]] = []


def before_removing(call: Callable[[ProcessSet], None]) -> None:
    """Registers a call for whenever a set is about to be removed: to release what uses it."""
    _before_removing.append(call)


def _heir_of(process_set: ProcessSet) -> Optional[ProcessSet]:
    """Returns another set with the same id, which lives on when this one is removed."""
    return next((other for other in registered() if other is not process_set
                 and other.process_set_id == process_set.process_set_id), None)


def remove_process_set(process_set: ProcessSet) -> bool:
    """Removes a set from the job; its ``process_set_id`` becomes None. Returns False, without effect,
    for a set that is not registered, and for the global one. Collective like ``add_process_set``.

    An optimizer of the set takes no step any more. Raises ValueError, or Mismatch on the other ranks,
    while an operation of the set is under way, or a step of such an optimizer.
    """
    expect(process_set)
    if process_set.process_set_id is None or process_set is global_process_set:
        return False
    for call in _before_removing:
        call(process_set)
    heir = _heir_of(process_set)
    if heir is not None or not process_set._ids:
        if heir is not None and process_set._ids:
            heir._ids = process_set._ids
        process_set._ids, process_set.process_set_id = [], None
    while process_set._ids:  # A refused removal can be tried again.
        gone = process_set._ids[-1]
        _job.engine().remove_process_set(gone)
        process_set._ids.pop()
        if gone == process_set.process_set_id:
            process_set.process_set_id = None
    with _lock:
        _registered.remove(process_set)
    return True


def registered() -> List[ProcessSet]:
    """Returns the sets of the job beside the global one, in the order in which they were added."""
    with _lock:
        return list(_registered)


def checked(process_sets: Any) -> List[ProcessSet]:
    """Returns the list that ``init`` was given; "dynamic" announces later sets, which are always
    possible. Raises ValueError for anything else."""
    if process_sets is None or process_sets == "dynamic":
        return []
    sets = process_sets if isinstance(process_sets, (list, tuple)) else [None]
    if not all(isinstance(each, ProcessSet) for each in sets):
        raise InvalidArgument(f"init(process_sets={process_sets!r}): give a list of ProcessSet "
                              'objects, or "dynamic"')
    return list(sets)


def _forget_all() -> None:
    with _lock:
        for process_set in _registered:
            process_set.process_set_id = None
            process_set._ids = []
            process_set._forget_operations()
        _registered.clear()
        _adopted.clear()
    global_process_set._forget_operations()


_job.after_leaving(_forget_all)
