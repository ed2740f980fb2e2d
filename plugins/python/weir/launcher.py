"""The command ``weirrun`` of an installed package."""

import os
import pathlib
import sys
from typing import Dict, List, Tuple


def command() -> Tuple[str, Dict[str, str]]:
    """Returns the launcher's path, and the environment to start it with."""
    program = pathlib.Path(__file__).parent / "bin" / "weirrun"
    environment = dict(os.environ)
    # MPICH from PyPI lies beside this interpreter, whatever the search path says.
    mpiexec = pathlib.Path(sys.executable).parent / "mpiexec"
    if mpiexec.exists():
        environment.setdefault("WEIR_MPIEXEC", str(mpiexec))
    return str(program), environment


def main(arguments: "List[str] | None" = None) -> None:
    """Replaces this process by weirrun."""
    program, environment = command()
    os.execve(program, ["weirrun", *(sys.argv[1:] if arguments is None else arguments)],
              environment)
