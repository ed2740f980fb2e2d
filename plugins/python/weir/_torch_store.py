"""The store by which PyTorch's launchers bring a job's processes together (torchrun, PyTorchJob)."""

import contextlib
import datetime
import os
import secrets
import sys
from typing import Any, Iterator

from weir.errors import InvalidArgument, TimedOut

_VARIABLES = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
_KEY = "weir/token"


@contextlib.contextmanager
def token() -> Iterator[str]:
    """Yields a token that the ranks of this job alone know, handed from rank 0 to the others through the
    store that MASTER_ADDR and MASTER_PORT name; "" where the engine finds one by itself: there is no
    such store, PyTorch is not loaded, or the user has given one. The store stays open meanwhile.

    Raises TimedOut when rank 0 hands out none within ``WEIR_START_TIMEOUT`` seconds.
    """
    given = os.environ.get("WEIR_TOKEN") or os.environ.get("WEIR_TOKEN_FILE")
    by_weirrun = "WEIR_SUPERVISOR_FD" in os.environ
    torch = sys.modules.get("torch")
    told = all(os.environ.get(name) for name in _VARIABLES) and os.environ["WORLD_SIZE"] != "1"
    if given or by_weirrun or not told or torch is None or not torch.distributed.is_available():
        yield ""
        return
    for name in _VARIABLES:
        if name != "MASTER_ADDR" and not os.environ[name].isdecimal():
            raise InvalidArgument(f"{name}={os.environ[name]}, which this process has from its "
                                  "launcher, is not a number")
    if int(os.environ["RANK"]) >= int(os.environ["WORLD_SIZE"]):
        yield ""  # The engine says what is wrong with it.
        return
    seconds = 30.0
    with contextlib.suppress(ValueError):  # The engine says what is wrong with it.
        seconds = float(os.environ.get("WEIR_START_TIMEOUT") or seconds)
    try:
        store = _store(torch.distributed, datetime.timedelta(seconds=seconds))
        if os.environ["RANK"] == "0":
            store.compare_set(_KEY, "", secrets.token_hex(16))
        found = store.get(_KEY).decode()
    except RuntimeError as error:
        where = f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
        raise TimedOut(f"within {seconds:g} s there was nothing from rank 0 in the store at {where}: "
                       f"{str(error).splitlines()[0]}") from error
    yield found


def _store(distributed: Any, timeout: datetime.timedelta) -> Any:
    if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True":  # torchrun's, one for each attempt.
        return next(distributed.rendezvous("env://", timeout=timeout))[0]
    # Shared with init_process_group. Rank 0 does not wait here: the hub knows better who is absent.
    return distributed.TCPStore(
        os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), int(os.environ["WORLD_SIZE"]),
        is_master=os.environ["RANK"] == "0", timeout=timeout, wait_for_workers=False,
        multi_tenant=True)
