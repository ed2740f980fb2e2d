"""Names that programs import from ``horovod.common.util``."""

import contextlib
import os
from typing import Any, Iterator, List, Optional, Sequence

from weir._build import (  # noqa: F401
    ccl_built, cuda_built, ddl_built, gloo_built, mpi_built, nccl_built)


def gpu_available(ext_base_name: str, verbose: bool = False) -> bool:
    """True if the package of that framework, such as "torch", exchanges the tensors of a GPU."""
    from weir import _core

    return extension_available(ext_base_name) and _core.can_use_gpus()


def extension_available(ext_base_name: str, verbose: bool = False) -> bool:
    """True if Weir serves the framework of that name: only "torch"."""
    return ext_base_name == "torch"


def check_extension(ext_name: str, ext_env_var: str, pkg_path: str, *args: str) -> None:
    """Raises ImportError unless Weir serves the framework of that module, such as "weir.torch" or
    "horovod.torch". The other arguments say where Horovod would look."""
    if not extension_available(ext_name.rpartition(".")[2]):
        raise ImportError(f"{ext_name}: Weir serves only PyTorch, as weir.torch")


def num_rank_is_power_2(num_rank: int) -> bool:
    """True for a power of 2. Nothing in Weir needs it, not even Adasum."""
    return num_rank > 0 and num_rank & (num_rank - 1) == 0


@contextlib.contextmanager
def env(**kwargs: Optional[str]) -> Iterator[None]:
    """Sets these variables of the environment inside, and restores them outside. None leaves a variable
    as it is."""
    given = {name: value for name, value in kwargs.items() if value is not None}
    before = {name: os.environ.get(name) for name in given}
    os.environ.update(given)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def split_list(l: Sequence[Any], n: int) -> List[Sequence[Any]]:
    """Returns the list in n pieces; the first ones have one entry more if it does not divide."""
    quotient, rest = divmod(len(l), n)
    ends = [(i + 1) * quotient + min(i + 1, rest) for i in range(n)]
    return [l[begin:end] for begin, end in zip([0, *ends], ends)]


def is_iterable(x: Any) -> bool:
    """True if ``iter(x)`` works."""
    try:
        iter(x)
    except TypeError:
        return False
    return True
