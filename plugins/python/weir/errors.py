"""Every exception that Weir raises.

``InvalidArgument`` and ``Mismatch`` leave the job usable, but for a step that one rank drops and
another takes; after ``PeerLost``, ``TimedOut`` and ``Corrupt`` it has ended on all ranks. The text of
each one is a whole sentence.

Attributes of all of them: ``tensor`` (name, or ""), ``ranks`` (those involved, ascending) and ``phase``
("submit", "negotiate", "exchange", ...). ``HostsUpdatedInterrupt`` has none of these, because it is not
an error.
"""


class _Context:
    tensor: str = ""
    ranks: "list[int]" = []
    phase: str = ""


class InvalidArgument(_Context, ValueError):
    """A call or a setting is wrong, and this rank alone can see it. Nothing was changed."""


class HorovodInternalError(_Context, RuntimeError):
    """Base of errors that only several ranks together can notice."""


class Mismatch(HorovodInternalError):
    """Ranks disagree. Every rank gets the same text, with the tensor, the ranks and both values."""


class PeerLost(HorovodInternalError):
    """Another rank's process died or was declared dead."""


class TimedOut(HorovodInternalError):
    """A deadline passed: a wait, or a tensor that some ranks never submitted."""


class Corrupt(HorovodInternalError):
    """Bytes from another rank, or of a saved state, fail their checks."""


class ShutDown(HorovodInternalError):
    """The job was shut down, here or by another rank, or belongs to the parent of this process."""


class HostsUpdatedInterrupt(RuntimeError):
    """The set of hosts has changed: the job is entered anew, and nothing is restored."""

    def __init__(self, skip_sync: bool = False) -> None:
        super().__init__("the set of hosts has changed")
        self.skip_sync = skip_sync
