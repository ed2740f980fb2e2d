"""``weir.run``: a Python function on N ranks, started from a program that is none of them."""

import operator
import os
import pathlib
import pickle
import shlex
import shutil
import subprocess
import sys
import tempfile
from multiprocessing import spawn
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from weir import launcher


def run(func: Callable[..., Any], args: Sequence[Any] = (),
        kwargs: Optional[Mapping[str, Any]] = None, np: int = 1, hosts: Optional[str] = None,
        hostfile: Optional[str] = None, start_timeout: Optional[float] = None,
        ssh_port: Optional[int] = None, ssh_identity_file: Optional[str] = None,
        output_filename: Optional[str] = None, verbose: Any = None,
        use_gloo: Optional[bool] = None, use_mpi: Optional[bool] = None,
        mpi_args: Optional[str] = None, network_interfaces: Optional[str] = None,
        executable: Optional[str] = None, env: Optional[Mapping[str, str]] = None) -> List[Any]:
    """Calls ``func(*args, **kwargs)`` on ``np`` ranks that ``weirrun`` starts; returns what each one
    returned, in rank order. The function calls ``hvd.init()`` itself.

    The function is found by its name, so it stands at the top of a module; one of the main script is
    fine, whose ``if __name__ == "__main__":`` part does not run again. Arguments and results are
    pickled; they travel in files of the temporary folder, which hosts have to share.

    ``env``: variables of the ranks, beside this process's. ``executable``: their Python. The others
    are options of ``weirrun``.

    Raises ValueError for what cannot be found or pickled, RuntimeError with the traceback of the
    rank that failed first.
    """
    operator.index(np)
    payload = _pickled(func, args, kwargs or {})
    options = _options(np, {
        "--hosts": hosts, "--hostfile": hostfile, "--start-timeout": start_timeout,
        "--ssh-port": ssh_port, "--ssh-identity-file": ssh_identity_file,
        "--output-filename": output_filename, "--network-interfaces": network_interfaces,
        "--mpi-args": mpi_args})
    options += ["--verbose"] * bool(verbose) + ["--gloo"] * bool(use_gloo) + ["--mpi"] * bool(use_mpi)
    program, environment = _launcher()
    environment.update(env or {})
    with tempfile.TemporaryDirectory(prefix="weir-run-") as folder:
        (pathlib.Path(folder) / "call").write_bytes(payload)
        command = [program, *options, executable or sys.executable, "-m", "weir._run_rank", folder]
        done = subprocess.run(command, env=_with_package(environment), check=False)
        return _results(pathlib.Path(folder), np, done.returncode, shlex.join(command))


def _pickled(func: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> bytes:
    if not callable(func):
        raise TypeError(f"weir.run calls a function; {func!r:.60} is none")
    name = getattr(func, "__qualname__", repr(func))
    if "<lambda>" in name or "<locals>" in name:
        raise ValueError(f"weir.run got {name}, which another process cannot find by its name: "
                         "define the function with def, at the top of a module")
    main = _main_script()
    if getattr(func, "__module__", None) == "__main__" and not main:
        raise ValueError(f"weir.run got {name} of an interactive session, which other processes "
                         "cannot import: put it into a file")
    try:
        call = pickle.dumps((func, tuple(args), dict(kwargs)))
    except Exception as error:
        raise ValueError(f"weir.run cannot pickle {name} and its arguments for other processes: "
                         f"{error}") from error
    return pickle.dumps((main, call))


def _main_script() -> Dict[str, Any]:
    """How multiprocessing has a new process import the main module; empty where it cannot."""
    data = spawn.get_preparation_data("weir.run")
    kept = ("sys_path", "sys_argv", "orig_dir", "dir", "init_main_from_name", "init_main_from_path")
    found = {key: data[key] for key in kept if key in data}
    return found if any(key.startswith("init_main") for key in found) else {}


def _options(np: int, values: Mapping[str, Any]) -> List[str]:
    found = ["-np", str(np)]
    for flag, value in values.items():
        if value is not None:
            found += [flag, str(value)]
    return found


def _launcher() -> Tuple[str, Dict[str, str]]:
    program, environment = launcher.command()
    chosen = os.environ.get("WEIR_RUN_PROGRAM")
    if chosen:
        program = chosen
    elif not os.path.exists(program):
        found = shutil.which("weirrun")
        if found is None:
            raise RuntimeError(f"weir.run finds no weirrun: neither {program} nor one in PATH. Name "
                               "it in WEIR_RUN_PROGRAM")
        program = found
    return program, environment


def _with_package(environment: Dict[str, str]) -> Dict[str, str]:
    """Ranks find the same package, however this process has found it."""
    package = str(pathlib.Path(__file__).absolute().parent.parent)
    paths = [package, *filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))]
    return {**environment, "PYTHONPATH": os.pathsep.join(paths)}


def _results(folder: pathlib.Path, np: int, code: int, command: str) -> List[Any]:
    failures = sorted(folder.glob("failure.*"), key=lambda path: path.stat().st_mtime_ns)
    if failures:
        raise RuntimeError(f"weir.run: rank {failures[0].suffix[1:]} failed:\n\n"
                           + failures[0].read_text())
    missing = [rank for rank in range(np) if not (folder / f"result.{rank}").exists()]
    if code != 0:
        raise RuntimeError(f"weir.run: weirrun ended with exit code {code}, and said why on stderr. "
                           f"The command was: {command}")
    if missing:
        raise RuntimeError(
            f"weir.run: {len(missing)} of {np} ranks left no result (all hosts have to share the "
            f"folder {folder.parent}). The command was: {command}")
    return [pickle.loads((folder / f"result.{rank}").read_bytes()) for rank in range(np)]
