"""How an operation of JAX's program reaches the engine.

Arrays that are there go through ``weir.numpy``. Inside ``jax.jit``, on the CPU, XLA calls functions of the extension,
which return at once and have futures. XLA begins calls with side effects in the order of the program, on all ranks
alike, and one execution after the other. On other devices, with several of them in the process, and where the
extension was built without jaxlib's headers, XLA calls Python.
"""

import contextlib
import functools
import warnings
from typing import Any, Callable, Dict, List, Optional, Sequence

import jax
import jax.numpy as jnp
import numpy
from jax.experimental import io_callback

from weir import _core, _job

_PREFIX = "weir_"


def carry(target: str, function: Callable[..., Sequence[Any]], arrays: Sequence[Any], results: Sequence[Any],
          attributes: Dict[str, Any], aliases: Optional[Dict[int, int]] = None) -> List[Any]:
    """Returns an operation's results: ``function``'s of arrays of NumPy, or those of the extension's ``target``.

    results: their shapes and types. aliases: operands of the target whose memory results take, by number.
    """
    expect_whole_arrays()
    if not any(isinstance(array, jax.core.Tracer) for array in arrays):
        found = function(*(numpy.asarray(array) for array in arrays))
        return [jnp.asarray(each) for each in found]
    if are_direct():
        return direct(target, results, arrays, attributes, aliases)
    return back(function, results, *arrays)


def expect_whole_arrays() -> None:
    """Raises NotImplementedError in a program that each device of this process runs for itself."""
    if jax.sharding.get_abstract_mesh().manual_axes:
        raise NotImplementedError("Weir exchanges whole arrays of this process, not what each of its devices has in "
                                  "jax.shard_map: call it outside, or combine over the devices there by jax.lax.psum")


def are_direct() -> bool:
    """Returns whether XLA calls the engine without Python."""
    return jax.default_backend() == "cpu" and jax.local_device_count() == 1 and _register()


def direct(target: str, results: Any, operands: Sequence[Any], attributes: Dict[str, Any],
           aliases: Optional[Dict[int, int]] = None) -> Any:
    """Calls a function of the extension."""
    call = jax.ffi.ffi_call(_PREFIX + target, results, has_side_effect=True, input_output_aliases=aliases)
    return call(*operands, **attributes)


def back(function: Callable[..., Sequence[Any]], results: Any, *operands: Any) -> Any:
    """Calls ``function`` with arrays of NumPy."""
    ordered = jax.local_device_count() == 1  # JAX orders calls on one device alone.
    return io_callback(lambda *arrays: function(*map(numpy.asarray, arrays)), results, *operands, ordered=ordered)


def settle() -> None:
    """Waits for the programs that JAX has under way, by this thread. One that has failed tells who waits for its
    results."""
    with contextlib.suppress(Exception):
        jax.effects_barrier()


@functools.lru_cache(maxsize=None)
def _register() -> bool:
    """Makes the extension's functions known to XLA, once. Returns False where it has none, or jaxlib is too old for
    them."""
    if not hasattr(_core, "jax_handlers"):
        warnings.warn("XLA calls Python for every exchange, which then begins when all gradients are there: this Weir was "
                      "built without jaxlib (docs/how-to/from-jax.md)")
        return False
    try:
        for name, handler in _core.jax_handlers().items():
            jax.ffi.register_ffi_target(_PREFIX + name, handler, platform="cpu")
    except Exception as error:
        warnings.warn(f"XLA calls Python for every exchange, which takes longer, as it cannot call Weir: {error}")
        return False
    _job.after_entering(lambda: _core.jax_enter(_job.engine()))
    _job.before_leaving(_leave)
    return True


def _leave() -> None:
    """Lets operations end that the program has begun, as another rank may wait for them."""
    settle()
    _core.jax_leave()
