"""A transformation of optax that exchanges gradients before another one takes them."""

import threading
import weakref
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Union

import jax
import jax.numpy as jnp
import numpy
import optax  # type: ignore[import-untyped]

from weir import _core, _job, _options
from weir._ops import join, reduce_op
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
    backward pass. ``init`` begins anew; ``update`` takes the state that the last one returned. Raises ValueError for
    options and gradients that do not fit, and Mismatch where ranks differ, when it is first traced.
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
            if not _is_traced(params):
                exchange.begin_anew()
            return DistributedState(jnp.zeros((), jnp.int32), inner.init(params))

        def update(gradients: Any, state: DistributedState, params: Any = None, **extra: Any) -> Any:
            rate = learning_rate(state.step) if callable(learning_rate) else learning_rate
            combined, skipped = exchange.step(gradients, state.step, jnp.asarray(rate, jnp.float32))
            updates, after = inner.update(combined, state.inner, params, **extra)
            if exchange.may_skip:
                updates = jax.tree.map(lambda each: jnp.where(skipped, jnp.zeros_like(each), each), updates)
                after = jax.tree.map(lambda old, new: jnp.where(skipped, old, new), state.inner, after)
            return updates, DistributedState(optax.safe_increment(state.step), after)

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
        return {"weir": numpy.frombuffer(self._exchange.group().save(), dtype=numpy.uint8)}

    def load_state_dict(self, state: Mapping[str, Any], params: Any, own: bool = True) -> None:
        """Restores it, bit for bit. ``params``: the model's, or arrays of their shapes. ``own``: it is this rank's;
        otherwise another rank's, which stands for it. Collective. Raises ValueError or Corrupt for a state of other
        arrays, and then changes nothing."""
        if "weir" not in state:
            raise ValueError("this is not the result of state_dict(): it has no 'weir'")
        saved = numpy.asarray(state["weir"], dtype=numpy.uint8).tobytes()
        self._exchange.registered(params)
        group = self._exchange.group()
        if own:
            group.load(saved)
        else:
            group.adopt(saved)

    def close(self) -> None:
        """Releases the engine. Between steps, on all ranks."""
        self._exchange.close()


def _is_traced(tree: Any) -> bool:
    return any(isinstance(leaf, (jax.core.Tracer, jax.ShapeDtypeStruct)) for leaf in jax.tree.leaves(tree))


class _Exchange:
    """The engine's side of a transformation: a group of gradients, registered when they are first seen."""

    def __init__(self, compression: Union[None, str, Mapping[str, Any]], op: int, name: Optional[str],
                 process_set: ProcessSet) -> None:
        self._compression, self._op, self._process_set = compression, op, process_set
        self._name = name
        self._group: "Optional[_core.GradientGroup]" = None
        self._steps: Any = None
        self._like: List[Any] = []
        self._names: List[str] = []
        self._report: Any = None
        self._begun = b""
        self.may_skip = False
        self._lock = threading.Lock()
        _open.add(self)

    def group(self) -> "_core.GradientGroup":
        """Returns it between steps: those that JAX has under way end first."""
        _calls.settle()
        if self._group is None:
            raise ValueError("no gradients were exchanged yet: there is nothing to save")
        return self._group

    @property
    def report(self) -> Any:
        _calls.settle()
        if self._steps is not None and self._steps.report.step >= 0:
            return self._steps.report
        return self._report

    def begin_anew(self) -> None:
        """Forgets what compressors remember, on all ranks."""
        if self._group is not None and self.group().next_step > 0:
            self.group().load(self._begun)

    def registered(self, tree: Any) -> "_core.GradientGroup":
        """Returns the group, which is made of the first tree. Raises ValueError for other names, shapes and types."""
        paths, leaves = zip(*jax.tree.leaves_with_path(tree)) if jax.tree.leaves(tree) else ((), ())
        names = [jax.tree_util.keystr(path, simple=True, separator=".") for path in paths]
        with self._lock:
            if self._group is None:
                self._register(names, leaves)
            self._check(names, leaves)
            assert self._group is not None
            return self._group

    def _register(self, names: List[str], leaves: Any) -> None:
        if not leaves:
            raise ValueError("distributed needs at least one gradient")
        specs = [_core.GradientSpec(name, leaf.shape, _arrays.number_of(leaf), 0, 0, {}, -1)
                 for name, leaf in zip(names, leaves)]
        options = self._options()
        if self._name is None:
            self._name = f"distributed.{self._process_set._next_number('distributed')}"
        self._group = _core.register(_job.engine(), self._name, specs, options, {}, self._op, 1.0, 1.0,
                                     id_for(self._process_set, "distributed"))
        self._names, self._like = names, [jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) for leaf in leaves]
        self._begun = self._group.save()
        self.may_skip = options.get("skip_nonfinite") == "true"
        if _calls.are_direct():
            self._steps = _core.JaxSteps(self._group)

    def _options(self) -> Dict[str, str]:
        if self._compression is None or self._compression == "none":
            return dict(_job.engine().default_compression)
        if isinstance(self._compression, str):
            return _options.from_text(self._compression)
        return _options.from_mapping(self._compression)

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
        """Returns the updates, and whether the step was skipped."""
        self.registered(gradients)
        leaves, structure = jax.tree.flatten(gradients)
        exchange = self._exchanged_directly if self._steps is not None else self._exchanged_by_python
        *updates, skipped = jax.jit(exchange)(leaves, step, rate)
        return jax.tree.unflatten(structure, updates), skipped

    def _exchanged_directly(self, leaves: List[Any], step: Any, rate: Any) -> List[Any]:
        number = {"steps": numpy.int64(self._steps.number)}
        begun = _calls.direct("begin", jax.ShapeDtypeStruct((), jnp.int32), (step, rate), number)
        pending = [_calls.direct("submit", like, (leaf, begun), {"index": numpy.int64(index), **number}, {0: 0})
                   for index, (leaf, like) in enumerate(zip(leaves, self._like))]
        return list(_calls.direct("collect", [*self._like, jax.ShapeDtypeStruct((), jnp.bool_)], pending, number,
                                  {index: index for index in range(len(pending))}))

    def _exchanged_by_python(self, leaves: List[Any], step: Any, rate: Any) -> List[Any]:
        results = [*self._like, jax.ShapeDtypeStruct((), jnp.bool_)]
        return list(_calls.back(self._step_of_arrays, results, step, rate, *leaves))

    def _step_of_arrays(self, step: Any, rate: Any, *gradients: Any) -> List[Any]:
        group = self._group
        assert group is not None
        if step != group.next_step:
            raise ValueError(f"the optimizer's state is of step {int(step)}, and what the compressors of "
                             f"'{self._name}' remember is of step {group.next_step}: keep one state and give each "
                             "update the last one's, and load what state_dict() gave together with it "
                             "(load_state_dict)")
        group.begin_step([float(rate)], 1.0, False, [], [])
        data = [_arrays.in_a_row(gradient) for gradient in gradients]
        updates = [_arrays.fresh(gradient) for gradient in gradients]
        for index, (gradient, update) in enumerate(zip(data, updates)):
            group.submit(index, _arrays.address_of(gradient), _arrays.address_of(update))
        group.end_step()
        self._report = group.wait_step()
        return [*updates, numpy.asarray(self._report.skipped)]

    def close(self) -> None:
        _calls.settle()
        with self._lock:
            if self._group is not None:
                self._group.close()
            self._group = self._steps = None


_open: "weakref.WeakSet[_Exchange]" = weakref.WeakSet()


def _close_all() -> None:
    for exchange in list(_open):
        exchange.close()


_job.before_leaving(_close_all)
join.before_joining(lambda _: _calls.settle())
