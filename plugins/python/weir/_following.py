"""Follows the ranks of a running job over HTTP (docs/reference/monitoring.md, /targets and /log)."""

import collections
import http.client
import json
import os
import threading
import urllib.error
import urllib.parse
import urllib.request
from typing import Any, Deque, Dict, Iterator, List, Optional

from weir._log_blocks import Block, Damaged, Table, block_at, columns_of, text_of
from weir._rank_files import may_be_same_job

TIMEOUT_SECONDS = 5.0
WAIT_SECONDS = 2  # A rank may wait this long for news before it answers.
PAUSE_SECONDS = 0.2  # After an answer without news, which means that the rank could not wait.
RETRY_SECONDS = 1.0
STEPS_KEPT = 50


class Endpoint:
    """The HTTP endpoint of one rank."""

    def __init__(self, url: str, token: str = ""):
        parts = urllib.parse.urlsplit(url if "//" in url else "//" + url, scheme="http")
        try:
            is_one = bool(parts.hostname and parts.hostname.encode("idna") and parts.port != 0)
        except ValueError:  # Names that no host has, and ports beyond 65535.
            is_one = False
        if parts.scheme not in ("http", "https") or not is_one:
            raise ValueError(f"{url!r} is not an address; give one such as http://localhost:9400")
        self.url = f"{parts.scheme}://{parts.netloc}"
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}

    def get(self, path: str) -> bytes:
        """Raises OSError: urllib.error.HTTPError if there is an answer, with a status."""
        request = urllib.request.Request(self.url + path, headers=self._headers)
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as reply:
                answer: bytes = reply.read()
        except http.client.HTTPException as error:  # Cut off, or another protocol's.
            raise OSError(f"its answer is not a whole HTTP answer ({type(error).__name__})") from None
        return answer


class Rank:
    """The known part of a rank: its newest steps and their gradients. A thread may follow it; readers
    then hold ``lock``."""

    def __init__(self, endpoint: Endpoint, rank: Optional[int] = None):
        self.endpoint, self.rank = endpoint, rank
        self.trouble = ""  # Why the last request failed.
        self.lock = threading.Lock()
        self._thread: Optional[threading.Thread] = None
        self._given_up = threading.Event()
        self._forget()

    def _forget(self) -> None:
        self.run: Dict[str, Any] = {}
        self.names: Dict[int, Any] = {}
        self.steps: Deque[Dict[str, float]] = collections.deque(maxlen=STEPS_KEPT)
        self.states: Deque[Dict[str, float]] = collections.deque(maxlen=5)
        self.gradients: Dict[int, Dict[str, float]] = {}  # Newest step of each gradient.
        self.stalls: Dict[str, Any] = {"time_ns": 0, "tensors": [], "left_out": 0}
        self.end: Optional[Dict[str, Any]] = None  # Its last message; None: it goes on, or was killed.
        self._after = 0

    @property
    def job(self) -> str:
        """The id of its job; "": not known."""
        return str(self.run.get("job", ""))

    def look(self) -> None:
        """Reads everything new."""
        while self._ask(0):
            pass

    def follow(self) -> None:
        """Reads everything new as soon as it exists, on a thread, until it is given up."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._follow, daemon=True)
            self._thread.start()

    def give_up(self) -> None:
        """Ends that; an answer that is under way still comes."""
        self._given_up.set()

    def _follow(self) -> None:
        # A request is always under way: a rank that ends tells only waiting readers.
        while not self._given_up.is_set():
            if not self._ask(WAIT_SECONDS):
                self._given_up.wait(RETRY_SECONDS if self.trouble else PAUSE_SECONDS)

    def _ask(self, wait: int) -> bool:
        """Returns True if there was something new."""
        try:
            answer = self.endpoint.get(f"/log?after={self._after}&wait={wait}&job={self.job}")
            blocks = list(_blocks(answer))
        except (OSError, ValueError) as error:  # ValueError: blocks of another version.
            self.trouble = _why(error)
            return False
        with self.lock:
            self.trouble = ""
            for block in blocks:
                self._take(block)
        return bool(blocks)

    def _take(self, block: Block) -> None:
        kind = block.head["kind"]
        if kind == "run":
            self._forget()  # Perhaps of another job than before.
            self.run, self.rank = text_of(block), block.head["rank"]
        elif kind == "names":
            self.names.update((name["bucket"], name) for name in text_of(block))
        elif kind == "steps":
            self.steps.extend(_rows(columns_of(block)))
        elif kind == "state":
            self.states.extend(_rows(columns_of(block)))
        elif kind == "stalls":
            self.stalls = text_of(block)
        elif kind == "end":
            self.end = text_of(block)
        elif kind == "gradients":
            for row in _rows(columns_of(block)):
                self.gradients[int(row["gradient"])] = row
        self._after = max(self._after, block.head.get("number", 0))


def _rows(columns: Table) -> Iterator[Dict[str, float]]:
    lists = {name: values.tolist() for name, values in columns.items()}
    for values in zip(*lists.values()):
        yield dict(zip(lists, values))


def _blocks(answer: bytes) -> Iterator[Block]:
    data, at = memoryview(answer), 0
    while at < len(data):
        try:
            block = block_at(data, at)
        except Damaged as error:
            raise OSError(f"its answer is damaged: {error}") from None
        yield block
        at = block.end


def _why(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        if error.code == 401:
            return ("it wants another token than that in WEIR_METRICS_TOKEN"
                    if os.environ.get("WEIR_METRICS_TOKEN") else "it wants a token: set WEIR_METRICS_TOKEN")
        return f"HTTP status {error.code}"
    reason = getattr(error, "reason", error)
    return str(getattr(reason, "strerror", None) or reason)


def ranks_of(url: str, token: str = "") -> List[Rank]:
    """Returns all ranks of the job whose rank 0 answers at `url`; only that rank if it does not know
    the others. Raises ValueError for an invalid address, OSError with a reason when nobody answers."""
    first = Endpoint(url, token)
    try:
        groups = json.loads(first.get("/targets"))
    except urllib.error.HTTPError as error:
        if error.code in (404, 503):  # Not rank 0, or not started by weirrun.
            return [Rank(first)]
        raise OSError(f"{first.url} does not answer: {_why(error)}") from None
    except OSError as error:
        raise OSError(f"{first.url} does not answer: {_why(error)}; is the job running, with "
                      "--metrics-port?") from None
    found = [(int(group["labels"]["rank"]), address)
             for group in groups for address in group["targets"]]
    # A rank knows its host by a name that may mean nothing here.
    scheme = urllib.parse.urlsplit(first.url).scheme
    return [Rank(first if rank == 0 else Endpoint(f"{scheme}://{address}", token), rank)
            for rank, address in found]


class Job:
    """The ranks of the job at an address, and of later jobs there."""

    def __init__(self, url: str, token: str = ""):
        """Raises as ranks_of does."""
        self._where = url, token
        self.ranks = ranks_of(url, token)
        self._job = ""  # The job of these ranks.

    def look(self) -> None:
        """Reads everything new."""
        for rank in self.ranks:
            rank.look()
        if self._renew():
            for rank in self.ranks:
                rank.look()

    def follow(self) -> None:
        """Follows the ranks from now on; called again, those of a job that has begun since."""
        self._renew()
        for rank in self.ranks:
            rank.follow()

    def _renew(self) -> bool:
        """Returns True if the ranks have changed because the job has."""
        job = self.ranks[0].job
        is_another = not may_be_same_job(job, self._job)
        if is_another:
            try:
                ranks = ranks_of(*self._where)
            except (OSError, ValueError):
                return False  # Perhaps the next time.
            for rank in self.ranks:
                rank.give_up()
            self.ranks = ranks
        self._job = job or self._job
        return is_another
