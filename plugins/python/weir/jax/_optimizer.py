"""A transformation of optax that exchanges gradients before another one takes them."""

import contextlib
import threading
import weakref
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Union

import jax
import jax.numpy as jnp
import numpy
import optax  # type: ignore[import-untyped]

from weir import _core, _job, _options
from weir._ops import group_states, join, reduce_op
from weir._process_sets import ProcessSet, global_process_set, id_for
from weir.jax import _calls
from weir.numpy import _arrays

Schedule = Callable[[Any], Any]


class DistributedState(NamedTuple):
    """State of ``distributed``: a part of the optimizer's pytree."""

    step: Any
    """Number of the next step, int32."""
    inner: Any
    """State of the transformation that takes the averages."""


def distributed(inner: optax.GradientTransformation,
                compression: Union[None, str, Mapping[str, Any]] = None,
                learning_rate: Union[float, Schedule] = 0.0, op: int = reduce_op.Average,
                name: Optional[str] = None,
                process_set: ProcessSet = global_process_set) -> "DistributedTransformation":
    """Returns a transformation that gives ``inner`` the ranks' mean gradient in place of this rank's.

        optimizer = wj.distributed(optax.sgd(0.1), {"compressor": "dgc", "density": 0.001})

    Compressors that have momentum in them ("dgc") give ``inner`` that momentum's step: leave it out there, as in
    ``optax.sgd(0.1)``, and give ``momentum_mu`` among the options.

    compression: a dictionary of options (docs/reference/compression.md) or a compressor's name; None or "none":
        ``WEIR_COMPRESSION``, or else plain averages. Patterns match names such as "dense.kernel".
    learning_rate: a number, or a function of the step's number, as ``inner`` uses; the same on all ranks. Compressors
        with error feedback take it into account when it changes.
    op: Average, or Sum where the compressor does not select entries.
    name: of the gradients, unique in the job; without one, such transformations are counted.

    Inside ``jax.jit`` each gradient is handed over as soon as XLA has computed it, and travels beside the rest of the
    backward pass. ``update`` takes the state that the last one returned; the first step, with the state of ``init``,
    begins with compressors that remember nothing. Raises ValueError for options and gradients that do not fit, and
    Mismatch where ranks differ, when it is first traced.
    """
    if op not in (reduce_op.Average, reduce_op.Sum):
        raise ValueError("distributed is for Average and Sum")
    return DistributedTransformation(_Exchange(compression, op, name, process_set), inner, learning_rate)


class DistributedTransformation(optax.GradientTransformationExtraArgs):
    """What ``distributed`` returns."""

    _exchange: "_Exchange"

    def __new__(cls, exchange: "_Exchange", inner: optax.GradientTransformation,
                learning_rate: Union[float, Schedule]) -> "DistributedTransformation":
        inner = optax.with_extra_args_support(inner)

        def init(params: Any) -> DistributedState:
            return DistributedState(jnp.zeros((), jnp.int32), inner.init(params))

        def update(gradients: Any, state: DistributedState, params: Any = None, **extra: Any) -> Any:
            rate = learning_rate(state.step) if callable(learning_rate) else learning_rate
            combined, next_step, skipped = exchange.step(gradients, state.step, jnp.asarray(rate, jnp.float32))
            updates, after = inner.update(combined, state.inner, params, **extra)
            if exchange.may_skip:
                updates = jax.tree.map(lambda each: jnp.where(skipped, jnp.zeros_like(each), each), updates)
                after = jax.tree.map(lambda old, new: jnp.where(skipped, old, new), state.inner, after)
            return updates, DistributedState(next_step, after)

        self = super().__new__(cls, init, update)
        self._exchange = exchange
        return self

    @property
    def report(self) -> "Optional[_core.StepReport]":
        """What the last step did: ``step``, ``skipped``, ``gradient_norm``, ``density``, ``wire_bytes``,
        ``dense_bytes``, ``non_finite_entries``. None before the first. Waits for steps under way."""
        return self._exchange.report

    def state_dict(self) -> Dict[str, Any]:
        """Returns what compressors of this rank remember, between steps: {"weir": array of bytes}. Save it on every
        rank, together with the optimizer's state of the same step."""
        return group_states.saved(self._exchange.group())

    def load_state_dict(self, state: Mapping[str, Any], params: Any, own: bool = True) -> None:
        """Restores it, bit for bit. ``params``: the model's, or arrays of their shapes. ``own``: it is this rank's;
        otherwise another rank's, which stands for it. Collective. Raises ValueError or Corrupt for a state of other
        arrays, and then changes nothing."""
        saved = group_states.bytes_of(state)
        self._exchange.register(params)
        group_states.restore(self._exchange.group(), saved, own)

    def close(self) -> None:
        """Releases the engine. Between steps, on all ranks."""
        self._exchange.close()


class _Exchange:
    """The engine's side of a transformation: a group of gradients, registered when they are first seen."""

    def __init__(self, compression: Union[None, str, Mapping[str, Any]], op: int, name: Optional[str],
                 process_set: ProcessSet) -> None:
        self._compression, self._op, self._process_set = compression, op, process_set
        self._name = name
        self._group: "Optional[_core.GradientGroup]" = None
        # Compiled programs know its number, also after the job was left and joined again.
        self._steps = _core.JaxSteps() if _calls.are_direct() else None
        exchanged = self._exchanged_by_python if self._steps is None else self._exchanged_directly
        self._exchanged = jax.jit(exchanged)
        self._like: List[Any] = []
        self._names: List[str] = []
        self._report: "Optional[_core.StepReport]" = None
        self.may_skip = False
        self._lock = threading.Lock()
        _open.add(self)

    def __del__(self) -> None:
        with contextlib.suppress(Exception):  # At the end of the interpreter there may be nothing to close it with.
            self.close()

    def group(self) -> "_core.GradientGroup":
        """Returns it between steps: those that JAX has under way end first."""
        self._settle()
        if self._group is None:
            raise ValueError("no gradients were exchanged yet: there is nothing to save")
        return self._group

    def _settle(self) -> None:
        _calls.settle()
        if self._steps is not None:
            self._steps.wait()

    @property
    def report(self) -> "Optional[_core.StepReport]":
        self._settle()
        return self._report if self._steps is None else self._steps.report

    def register(self, tree: Any) -> None:
        """Makes the group of the first tree. Raises ValueError for later ones of other names, shapes and types."""
        found = jax.tree.leaves_with_path(tree)
        names = [jax.tree_util.keystr(path, simple=True, separator=".") for path, _ in found]
        leaves = [leaf for _, leaf in found]
        with self._lock:
            if self._group is None:
                self._register(names, leaves)
            self._check(names, leaves)

    def _register(self, names: List[str], leaves: Any) -> None:
        if not leaves:
            raise ValueError("distributed needs at least one gradient")
        specs = [_core.GradientSpec(name, leaf.shape, _arrays.number_of(leaf), 0, 0, {}, -1)
                 for name, leaf in zip(names, leaves)]
        options = _options.of_gradients(self._compression)
        if self._name is None:
            self._name = f"distributed.{self._process_set._next_number('distributed')}"
        self._group = _core.register(_job.engine(), self._name, specs, options, {}, self._op, 1.0, 1.0,
                                     id_for(self._process_set, "distributed"))
        self._names, self._like = names, [jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) for leaf in leaves]
        # Where the option says no in some other way, a step is not skipped, and the flag is false.
        self.may_skip = "skip_nonfinite" in options
        if self._steps is not None:
            self._steps.use(self._group)

    def _check(self, names: List[str], leaves: Any) -> None:
        if names != self._names:
            other = sorted(set(names) ^ set(self._names))
            raise ValueError(f"these are not the gradients that were there at first: {', '.join(other[:8])}; make a "
                             "transformation for each model")
        for name, leaf, like in zip(names, leaves, self._like):
            if leaf.shape != like.shape or leaf.dtype != like.dtype:
                raise ValueError(f"the gradient of '{name}' was {like.dtype} {list(like.shape)} at first; this is "
                                 f"{leaf.dtype} {list(leaf.shape)}")

    def step(self, gradients: Any, step: Any, rate: Any) -> Any:
        """Returns the updates, the number of the next step, and whether this one was skipped."""
        _calls.expect_whole_arrays()
        self.register(gradients)
        leaves, structure = jax.tree.flatten(gradients)
        *updates, next_step, skipped = self._exchanged(leaves, step, rate)
        return jax.tree.unflatten(structure, updates), next_step, skipped

    def _results(self) -> List[Any]:
        return [*self._like, jax.ShapeDtypeStruct((), jnp.int32), jax.ShapeDtypeStruct((), jnp.bool_)]

    def _exchanged_directly(self, leaves: List[Any], step: Any, rate: Any) -> List[Any]:
        assert self._steps is not None
        number = {"steps": numpy.int64(self._steps.number)}
        token = jax.ShapeDtypeStruct((), jnp.int32)
        begun = _calls.direct("begin", token, (step, rate), number)
        submitted = [_calls.direct("submit", token, (leaf, begun), {"index": numpy.int64(index), **number})
                     for index, leaf in enumerate(leaves)]
        return list(_calls.direct("collect", self._results(), submitted, number))

    def _exchanged_by_python(self, leaves: List[Any], step: Any, rate: Any) -> List[Any]:
        return list(_calls.back(self._step_of_arrays, self._results(), step, rate, *leaves))

    def _step_of_arrays(self, step: Any, rate: Any, *gradients: Any) -> List[Any]:
        group = self._group
        if group is None:
            raise ValueError("this process has left the job that the gradients belonged to, or closed them")
        group.go_to(int(step))
        group.begin_step([float(rate)], 1.0, False, [], [])
        data = [_arrays.in_a_row(gradient) for gradient in gradients]
        updates = [_arrays.fresh(gradient) for gradient in gradients]
        for index, (gradient, update) in enumerate(zip(data, updates)):
            group.submit(index, _arrays.address_of(gradient), _arrays.address_of(update))
        group.end_step()
        self._report = group.wait_step()
        return [*updates, numpy.int32(self._report.step + 1), numpy.asarray(self._report.skipped)]

    def close(self) -> None:
        """Leaves the job; gradients that come later are registered anew."""
        self._settle()
        with self._lock:
            if self._steps is not None:
                self._steps.leave()
            if self._group is not None:
                self._group.close()
            self._group = self._report = None


_open: "weakref.WeakSet[_Exchange]" = weakref.WeakSet()


def _close_all() -> None:
    for exchange in list(_open):
        exchange.close()


_job.before_leaving(_close_all)
join.before_joining(lambda _: _calls.settle())
