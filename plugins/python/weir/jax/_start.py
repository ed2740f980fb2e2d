"""The same start on all ranks."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy

import weir.numpy as wn
from weir._process_sets import ProcessSet, global_process_set
from weir.numpy import _arrays


def broadcast_parameters(tree: Any, root_rank: int = 0, process_set: ProcessSet = global_process_set) -> Any:
    """Returns the root's arrays, in a pytree like this one: parameters, an optimizer's state, keys of random numbers.
    Outside ``jax.jit``. Raises Mismatch where trees differ."""
    leaves, structure = jax.tree.flatten(tree)
    names = [jax.tree_util.keystr(path) for path, _ in jax.tree.leaves_with_path(tree)]
    started = [wn.broadcast_async(_plain(leaf), root_rank, f"parameters{name}", process_set)
               for name, leaf in zip(names, leaves)]
    found = [wn.synchronize(handle) for handle in started]
    return jax.tree.unflatten(structure, [_like(leaf, each) for leaf, each in zip(leaves, found)])


def _is_key(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _array_of(leaf: Any) -> Any:
    return numpy.asarray(jax.random.key_data(leaf) if _is_key(leaf) else leaf)


def _plain(leaf: Any) -> Any:
    """Returns the leaf as an array that can be carried: as bytes, if the engine does not know its type."""
    array = _array_of(leaf)
    return array if _arrays.knows(array) else numpy.frombuffer(array.tobytes(), numpy.uint8)


def _like(leaf: Any, found: Any) -> Any:
    """Returns the array as one of JAX's, on the devices of the leaf."""
    own = _array_of(leaf)
    found = found.view(own.dtype).reshape(own.shape)
    if _is_key(leaf):
        return jax.random.wrap_key_data(jnp.asarray(found), impl=jax.random.key_impl(leaf))
    return jax.device_put(found, leaf.sharding) if isinstance(leaf, jax.Array) else jnp.asarray(found)
