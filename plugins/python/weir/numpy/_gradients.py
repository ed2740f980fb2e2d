"""Gradients that are exchanged together, step by step."""

from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Union

from weir import _job, _options
from weir._ops import group_states, reduce_op
from weir._process_sets import ProcessSet, global_process_set, id_for
from weir.numpy import _arrays

if TYPE_CHECKING:
    from weir import _core


class Gradients:
    """Gradients of named arrays, which the engine fuses, compresses and exchanges as one group.

        gradients = wn.Gradients(parameters, compression={"compressor": "dgc", "density": 0.001})
        updates = gradients.step(computed, learning_rate=0.1)
        for name, update in updates.items():
            parameters[name] -= 0.1 * update

    An update is what the program subtracts, before the learning rate: the mean gradient, and with momentum inside
    the compressor ("dgc") that momentum's step. Arrays that ``overrides`` give another compressor come without.
    To hide the exchange behind the computation, call ``begin``, then ``submit`` for each gradient as it is computed,
    then ``finish``.

    parameters: the arrays, or others of their shapes and types, by name; in the order of the forward pass. Floating
        point. The same on all ranks. Gradients are exchanged and remembered as float32, those of float64 too.
    compression: a dictionary of options (docs/reference/compression.md) or a compressor's name; None or "none":
        ``WEIR_COMPRESSION``, or else plain averages.
    op: Average, or Sum where the compressor does not select entries.
    name: of the group, which is unique in the job; state is saved under it.

    Collective. ``submit`` is thread-safe; the rest belongs to one thread. Raises ValueError for options, names and
    arrays that do not fit, Mismatch where ranks differ.
    """

    def __init__(self, parameters: Mapping[str, Any],
                 compression: Union[None, str, Mapping[str, Any]] = None, op: int = reduce_op.Average,
                 name: str = "gradients", process_set: ProcessSet = global_process_set) -> None:
        from weir import _core

        like = {str(key): _arrays.given(array) for key, array in parameters.items()}
        if not like:
            raise ValueError("Gradients needs at least one array")
        if op not in (reduce_op.Average, reduce_op.Sum):
            raise ValueError("Gradients is for Average and Sum")
        self._like = like
        self._numbers = {key: index for index, key in enumerate(like)}
        specs = [_core.GradientSpec(key, array.shape, _arrays.number_of(array), 0, 0, {},
                                    _arrays.place_of(array)[0]) for key, array in like.items()]
        self._group: _core.GradientGroup = _core.register(
            _job.engine(), name, specs, _options.of_gradients(compression), {}, op, 1.0, 1.0,
            id_for(process_set, "GRADIENTS"))
        self._updates: Dict[str, Any] = {}
        self._lent: List[Any] = []  # What the engine reads until the step ends.
        self._momentum: Optional[float] = None  # Of the last step that was taken.
        self._momentum_now: Optional[float] = None
        self.report: "Optional[_core.StepReport]" = None
        """What the last step did: ``step``, ``skipped``, ``gradient_norm``, ``density``, ``wire_bytes``,
        ``dense_bytes``, ``non_finite_entries``."""

    def step(self, gradients: Mapping[str, Any], learning_rate: float = 0.0) -> Dict[str, Any]:
        """Exchanges one step's gradients, by name; returns the updates in new arrays. Names that are left out
        contribute zeros, and are updated as the other ranks say. Raises as ``submit`` does, and then has begun no
        step."""
        for key, gradient in gradients.items():
            self._check(key, gradient, None)
        self.begin(learning_rate)
        for key, gradient in gradients.items():
            self.submit(key, gradient)
        return self.finish()

    def begin(self, learning_rate: float = 0.0, momentum: Optional[float] = None) -> None:
        """Begins a step. ``learning_rate``: the same on all ranks; compressors with error feedback use it.
        ``momentum``: of a compressor that has one, in place of its option's; the same on all ranks."""
        self._momentum_now = momentum
        both_known = momentum is not None and self._momentum is not None
        self._group.begin_step([float(learning_rate)], 1.0, False, [] if momentum is None else [float(momentum)],
                               [float(self._momentum)] if both_known else [])  # type: ignore[arg-type]

    def submit(self, name: str, gradient: Any, out: Any = None) -> None:
        """Hands over a gradient, this rank's mean, which stays as it is until ``finish``. ``out``: an array for
        its update, which may be the gradient; None: a new one.

        Raises ValueError for an unknown name, another shape, type or device, and a second gradient in the step.
        """
        like = self._check(name, gradient, out)
        data = _arrays.in_a_row(gradient)
        output = _arrays.fresh(like) if out is None else _arrays.target(out)
        into = _arrays.in_a_row(output)
        self._lent += [data, into]
        self._group.submit(self._numbers[name], _arrays.address_of(data), _arrays.address_of(into),
                           _arrays.place_of(data))
        self._updates[name] = (output, into)

    def _check(self, name: str, gradient: Any, out: Any) -> Any:
        """Returns the registered array. Raises ValueError for a gradient that does not fit it."""
        like = self._like.get(name)
        if like is None:
            raise ValueError(f"there is no array '{name}': registered are {', '.join(list(self._like)[:8])}")
        for array in (gradient, gradient if out is None else out):
            if getattr(array, "shape", None) != like.shape or array.dtype != like.dtype:
                raise ValueError(f"the gradient of '{name}' was registered as {like.dtype} {list(like.shape)}; this "
                                 f"is {getattr(array, 'dtype', type(array).__name__)} "
                                 f"{list(getattr(array, 'shape', []))}")
            if _arrays.place_of(array)[0] != _arrays.place_of(like)[0]:
                raise ValueError(f"the gradient of '{name}' was registered on another device than this array's: keep "
                                 "parameters, gradients and updates on one")
        return like

    def finish(self) -> Dict[str, Any]:
        """Ends the step, waits for it, and returns the updates by name; zeros, if ``report.skipped``.

        Raises HorovodInternalError, or one of the classes below it, when the exchange failed.
        """
        try:
            self._submit_missing()
            self._group.end_step()
            unused = {list(self._like)[index] for index in self._group.unused_by_all()}
            self.report = self._group.wait_step()
            updates = {key: _arrays.delivered(*self._updates[key]) for key in self._like}
        finally:
            self._updates, self._lent = {}, []
        if not self.report.skipped:
            self._momentum = self._momentum_now
        for key in updates if self.report.skipped else unused:  # There is nothing to subtract.
            updates[key][...] = 0
        return updates

    def _submit_missing(self) -> None:
        """Makes room for the other ranks' part of gradients that this rank does not have."""
        missing = [key for key in self._like if key not in self._updates]
        if not missing:
            return
        self._group.note_unused([self._numbers[key] for key in missing])
        for key in missing:
            zeros = _arrays.fresh(self._like[key])
            zeros[...] = 0
            self.submit(key, zeros, zeros)

    @property
    def next_step(self) -> int:
        """The number of the step that comes next."""
        return int(self._group.next_step)

    def state_dict(self) -> Dict[str, Any]:
        """Returns what compressors of this rank remember, between steps: {"weir": array of bytes}, which
        ``numpy.savez`` takes. Save it on every rank."""
        return group_states.saved(self._group)

    def load_state_dict(self, state: Mapping[str, Any], own: bool = True) -> None:
        """Restores it, bit for bit. ``own``: it is this rank's; otherwise another rank's, which stands for it.
        Collective. Raises ValueError or Corrupt for a state of other arrays, and then changes nothing."""
        group_states.restore(self._group, group_states.bytes_of(state), own)

    def close(self) -> None:
        """Releases the engine. Between steps, on all ranks."""
        self._group.close()

