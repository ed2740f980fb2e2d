"""``weir.run``: a Python function on N ranks, started from a program that is not a rank."""

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

from weir import _pickling, _run_options, launcher


def run(func: Callable[..., Any], args: Sequence[Any] = (),
        kwargs: Optional[Mapping[str, Any]] = None, num_proc: Optional[int] = None,
        min_num_proc: Optional[int] = None, max_num_proc: Optional[int] = None,
        slots: Optional[int] = None, reset_limit: Optional[int] = None, cooldown_range: Any = None,
        hosts: Optional[str] = None, hostfile: Optional[str] = None,
        start_timeout: Optional[float] = None, ssh_port: Optional[int] = None,
        ssh_identity_file: Optional[str] = None, disable_cache: Optional[bool] = None,
        output_filename: Optional[str] = None, verbose: Any = None,
        use_gloo: Optional[bool] = None, use_mpi: Optional[bool] = None,
        mpi_args: Optional[str] = None, network_interface: Optional[str] = None,
        executable: Optional[str] = None, np: Optional[int] = None, min_np: Optional[int] = None,
        max_np: Optional[int] = None, network_interfaces: Optional[str] = None,
        env: Optional[Mapping[str, str]] = None, servers: Optional[int] = None) -> List[Any]:
    """Calls ``func(*args, **kwargs)`` on ``np`` ranks that ``weirrun`` starts; returns their results,
    in rank order. The function calls ``hvd.init()`` itself.

    Function, arguments and results are pickled (cloudpickle), so lambdas, local functions and those of
    the main script or of a notebook work; objects of other modules are sent by name. They go through
    files in the temporary folder, which all hosts must share.

    np, num_proc: the number of ranks; 1 without both.
    network_interface, network_interfaces: ``--network-interfaces``.
    executable: the ranks' Python.
    env: variables of the ranks, beside this process's.
    servers: summation servers beside the ranks (``--servers``), which return nothing.
    min_np, min_num_proc, max_np, max_num_proc, reset_limit, cooldown_range: make the job elastic, as
        ``--min-np`` and its kin do; the results are those of the processes that have returned, in the
        order in which they were started. ``slots`` is refused, as hosts are not looked for here.

    All others are options of ``weirrun``.

    Raises ValueError for objects that cannot be pickled and for arguments that contradict each other or
    are refused, RuntimeError with the traceback of the rank that failed first.
    """
    if slots is not None:
        raise ValueError("weir.run: slots= is for hosts that a script finds, as with weirrun "
                         "--host-discovery-script; give hosts='a:2,b:2'")
    _run_options.one_of(hosts=hosts, hostfile=hostfile)
    _run_options.one_of(use_gloo=use_gloo or None, use_mpi=use_mpi or None)
    ranks = _run_options.one_of(num_proc=num_proc, np=np)
    ranks = 1 if ranks is None else _whole("np", ranks)
    elastic = {
        "--min-np": _run_options.one_of(min_num_proc=min_num_proc, min_np=min_np),
        "--max-np": _run_options.one_of(max_num_proc=max_num_proc, max_np=max_np),
        "--reset-limit": reset_limit, "--blacklist-cooldown-range": cooldown_range}
    options = _run_options.of({
        "-np": str(ranks), **elastic, "--servers": None if servers is None else _whole("servers", servers),
        "--hosts": hosts, "--hostfile": hostfile,
        "--start-timeout": start_timeout, "--ssh-port": ssh_port,
        "--ssh-identity-file": ssh_identity_file, "--disable-cache": bool(disable_cache),
        "--output-filename": output_filename, "--verbose": bool(verbose),
        "--gloo": bool(use_gloo), "--mpi": bool(use_mpi), "--mpi-args": mpi_args,
        "--network-interfaces": _run_options.one_of(network_interface=network_interface,
                                                    network_interfaces=network_interfaces)})
    payload = _pickled(func, args, kwargs or {})
    program, environment = _launcher()
    environment.update(env or {})
    environment["WEIR_LAUNCHER_PARENT"] = str(os.getpid())  # The job ends with this process.
    with tempfile.TemporaryDirectory(prefix="weir-run-") as folder:
        (pathlib.Path(folder) / "call").write_bytes(payload)
        command = [program, *options, executable or sys.executable, "-m", "weir._run_rank", folder]
        done = subprocess.run(command, env=_with_package(environment), check=False)
        return _results(pathlib.Path(folder), None if elastic["--min-np"] else ranks, done.returncode,
                        shlex.join(command))


def _whole(name: str, number: Any) -> int:
    try:
        return operator.index(number)
    except TypeError:
        raise TypeError(f"weir.run: {name}={number!r} is not a whole number") from None


def _pickled(func: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> bytes:
    if not callable(func):
        raise TypeError(f"weir.run needs a function, not {func!r:.60}")
    try:
        call = _pickling.for_other_program((func, tuple(args), dict(kwargs)))
    except Exception as error:
        name = getattr(func, "__qualname__", repr(func))
        raise ValueError(f"weir.run cannot pickle {name} and its arguments for other processes: "
                         f"{error}") from error
    return pickle.dumps((_place(), call))


def _place() -> Dict[str, Any]:
    """Returns the places of this process's modules and files, as multiprocessing passes them to a new
    one."""
    data = spawn.get_preparation_data("weir.run")
    return {key: data[key] for key in ("sys_path", "sys_argv", "orig_dir", "dir") if key in data}


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
    """Makes ranks find the same package, however this process has found it."""
    package = str(pathlib.Path(__file__).absolute().parent.parent)
    paths = [package, *filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))]
    return {**environment, "PYTHONPATH": os.pathsep.join(paths)}


def _results(folder: pathlib.Path, np: Optional[int], code: int, command: str) -> List[Any]:
    """``np``: None if ranks may come and go."""
    failures = sorted(folder.glob("failure.*"), key=lambda path: path.stat().st_mtime_ns)
    if failures and (np is not None or code != 0):
        raise RuntimeError(f"weir.run: rank {failures[0].suffix[1:]} failed:\n\n"
                           + failures[0].read_text())
    numbers = sorted(int(path.suffix[1:]) for path in folder.glob("result.*"))
    missing = [rank for rank in range(np or 0) if rank not in numbers]
    if code != 0:
        raise RuntimeError(f"weir.run: weirrun ended with exit code {code}, and said why on stderr. "
                           f"The command was: {command}")
    if missing:
        raise RuntimeError(
            f"weir.run: {len(missing)} of {np} ranks left no result (all hosts have to share the "
            f"folder {folder.parent}). The command was: {command}")
    return [pickle.loads((folder / f"result.{rank}").read_bytes()) for rank in numbers]
