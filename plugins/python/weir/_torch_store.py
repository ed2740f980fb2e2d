"""The store by which PyTorch's launchers bring a job's processes together (torchrun, PyTorchJob)."""

import contextlib
import datetime
import os
import secrets
import sys
from typing import Iterator

from weir.errors import TimedOut

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
    if given or by_weirrun or torch is None or not all(os.environ.get(name) for name in _VARIABLES):
        yield ""
        return
    if os.environ["WORLD_SIZE"] == "1":
        yield ""
        return
    seconds = float(os.environ.get("WEIR_START_TIMEOUT") or 30)
    try:
        store, rank, _ = next(torch.distributed.rendezvous(
            "env://", timeout=datetime.timedelta(seconds=seconds)))
        if rank == 0:
            store.compare_set(_KEY, "", secrets.token_hex(16))
        found = store.get(_KEY).decode()
    except RuntimeError as error:
        where = f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
        raise TimedOut(f"rank 0 did not join the job within {seconds:g} s: nothing from it in the "
                       f"store of {where} ({str(error).splitlines()[0]})") from error
    yield found
