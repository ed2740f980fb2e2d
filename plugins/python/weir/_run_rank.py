"""Program that ``weir.run`` starts on every rank: python -m weir._run_rank FOLDER."""

import os
import pathlib
import pickle
import sys
import traceback
from multiprocessing import spawn

from weir import _pickling


def _rank() -> str:
    for name in ("WEIR_LAUNCHER_RANK", "PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK"):
        if name in os.environ:
            return os.environ[name]
    raise RuntimeError("weir._run_rank is started by weir.run, as a rank of a job")


def main(folder: pathlib.Path) -> None:
    """Calls the function in the folder, and leaves its result there."""
    rank = _rank()
    try:
        place, call = pickle.loads((folder / "call").read_bytes())
        spawn.prepare(place)  # Objects that the call refers to are found from there.
        func, args, kwargs = pickle.loads(call)
        data = _pickling.for_other_program(func(*args, **kwargs))
    except (Exception, SystemExit):  # It should return; a sys.exit() in it would end the job silently.
        _write(folder / f"failure.{rank}", traceback.format_exc().encode())
        raise
    _write(folder / f"result.{rank}", data)


def _write(path: pathlib.Path, data: bytes) -> None:
    """Writes the whole file, or nothing."""
    part = path.with_name("part." + path.name)
    part.write_bytes(data)
    part.rename(path)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
