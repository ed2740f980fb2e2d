"""The steps of an optimizer between which ranks rarely agree: the class put before its own."""

import warnings
from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Optional, Set

import torch

from weir import _job
from weir._process_sets import ProcessSet
from weir.torch._ops.objects import broadcast_object
from weir.torch._optimizer import load_in_place, options_by_name
from weir.torch._outer.fragment import Fragment, Named, split

if TYPE_CHECKING:  # The class it is mixed into.
    _Wrapped = torch.optim.Optimizer
else:
    _Wrapped = object


class Rounds(NamedTuple):
    """When ranks agree, and how."""

    every: int        # Steps between two rounds of a parameter.
    fragments: int    # Parts of the model, whose rounds begin one after the other.
    overlap: int      # Steps that a rank takes while a round is under way.
    outer_lr: float
    outer_momentum: float
    compression: Any


class LocalSteps(_Wrapped):
    """Each rank takes the wrapped optimizer's steps by itself. Every so many steps a round begins."""

    # Attributes beside the optimizer's: all names begin with _weir.
    # GradScaler leaves a step to the optimizer then. It must count on all ranks, if only one skips it.
    _step_supports_amp_scaling = True

    def _weir_init(self, named: Optional[List[Named]], rounds: Rounds, process_set: ProcessSet) -> None:
        self._weir_rounds = rounds
        self._weir_process_set = process_set
        self._weir_is_member = bool(process_set.included())
        self._weir_given_names = {parameter: name for name, parameter in named or []}
        self._weir_fragments: List[Fragment] = []
        self._weir_known: Set[torch.Tensor] = set()  # Parameters of fragments.
        self._weir_steps = 0
        self._weir_reports: List[Any] = []
        self._weir_has_started = False
        self._weir_frozen: List[torch.Tensor] = []
        self._weir_adopt(rounds.fragments)

    def _weir_adopt(self, fragments: int) -> None:
        """Makes fragments of parameters that are in none. Collective if there are any."""
        fresh = [(self._weir_given_names.get(parameter, f"group{number}.parameter{i}"), parameter)
                 for number, group in enumerate(self.param_groups)
                 for i, parameter in enumerate(group["params"])
                 if parameter.requires_grad and parameter not in self._weir_known]
        self._weir_frozen = [parameter for group in self.param_groups for parameter in group["params"]
                             if not parameter.requires_grad]
        if not fresh or not self._weir_is_member:
            return
        rounds = self._weir_rounds
        made = [Fragment(part, rounds.outer_lr, rounds.outer_momentum, rounds.compression, self._weir_process_set)
                for part in split(fresh, fragments)]
        if not self._weir_fragments:
            text = options_by_name.unmatched(made[0].optimizer, [name for name, _ in fresh], type(self).__name__)
            if text and _job.rank() == self._weir_process_set.ranks[0]:
                warnings.warn(text, stacklevel=4)
        self._weir_fragments.extend(made)
        self._weir_known.update(parameter for _, parameter in fresh)
        # A rank that is new in an elastic job makes its optimizer while the others train; it is given a state.
        if _job.engine().epoch == 1 or self._weir_has_started:
            for fragment in made:
                fragment.start()

    def add_param_group(self, param_group: Dict[str, Any]) -> None:
        super().add_param_group(param_group)
        if hasattr(self, "_weir_fragments"):
            self._weir_adopt(1)

    # --- a step ---

    def step(self, closure: Any = None) -> Any:
        """Takes the wrapped optimizer's step on this rank's own gradients; begins and ends the rounds that
        are due then. All ranks must take the same number of steps; after ``last = join()`` all go on by
        ``broadcast_parameters`` and ``broadcast_optimizer_state`` from that rank."""
        if not self._weir_has_started:
            for fragment in self._weir_fragments:
                fragment.start()  # The program may have loaded other parameters since, even on one rank alone.
            self._weir_has_started = True
        if any(parameter.requires_grad for parameter in self._weir_frozen):
            self._weir_adopt(1)
        result = self._weir_local_step(closure)
        self._weir_steps += 1
        self._weir_reports.clear()
        for number, fragment in enumerate(self._weir_fragments):
            if self._weir_steps - fragment.begun_at >= self._weir_rounds.overlap:
                self._weir_finish(fragment)
            if self._weir_is_due(number):
                fragment.begin(self._weir_steps)
                if self._weir_rounds.overlap == 0:
                    self._weir_finish(fragment)
        return result

    def _weir_is_due(self, number: int) -> bool:
        rounds = self._weir_rounds
        at = min(number + 1, rounds.fragments) * rounds.every // rounds.fragments
        return (self._weir_steps - at) % rounds.every == 0

    def _weir_local_step(self, closure: Any) -> Any:
        """Takes the wrapped optimizer's step, unless a GradScaler has found that gradients overflow."""
        overflow, scale = getattr(self, "found_inf", None), getattr(self, "grad_scale", None)
        if overflow is None or self.__dict__.get("_step_supports_amp_scaling", False):
            return super().step(closure)
        if bool(overflow):
            return None
        self.found_inf = self.grad_scale = None  # GradScaler deletes them.
        if scale is not None:
            for group in self.param_groups:
                for parameter in group["params"]:
                    if parameter.grad is not None:
                        parameter.grad.div_(scale)
        return super().step(closure)

    def synchronize(self) -> None:
        """Ends with equal parameters on all ranks, by a round of what has not been exchanged. Collective.
        Call it before the model is saved or judged; without it each rank has its own."""
        self._weir_reports.clear()
        for fragment in self._weir_fragments:
            self._weir_finish(fragment)
        fresh = [fragment for fragment in self._weir_fragments if fragment.begun_at != self._weir_steps]
        for fragment in fresh:
            fragment.begin(self._weir_steps)
        for fragment in fresh:
            self._weir_finish(fragment)

    def _weir_finish(self, fragment: Fragment) -> None:
        if fragment.is_under_way:
            fragment.finish()
            self._weir_reports.append(fragment.optimizer.step_report)

    @property
    def round_reports(self) -> List[Any]:
        """Returns the engine's reports of the rounds that the last ``step()`` or ``synchronize()`` has ended;
        none after most steps."""
        return list(self._weir_reports)

    # --- state ---

    def state_dict(self) -> Dict[str, Any]:
        """Returns the wrapped optimizer's state, and under "weir" the outer one's with what this rank has
        not sent. Waits for a round that is under way."""
        return {**super().state_dict(), "weir": self._weir_state()}

    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        """Restores a ``state_dict``. Every rank must load, its own state or rank 0's; or rank 0 loads and
        all call ``broadcast_optimizer_state``. Without an outer state, as of a run without ``Outer``,
        training begins with a new one. Raises ValueError for the state of other fragments."""
        saved = state_dict.get("weir")
        if any(parameter.requires_grad for parameter in self._weir_frozen):
            self._weir_adopt(1)
        if saved is not None:
            self._weir_check(saved)
        elif self._weir_has_started:
            raise ValueError("the state has no part of Outer's, and this optimizer has taken steps: load it into a "
                             "new one")
        with load_in_place.kept(self):
            super().load_state_dict({key: value for key, value in state_dict.items() if key != "weir"})
        if saved is not None:
            self._weir_take(saved)

    def _weir_state(self) -> Dict[str, Any]:
        return {"steps": self._weir_steps, "has_started": self._weir_has_started,
                "fragments": [fragment.state_dict() for fragment in self._weir_fragments]}

    def _weir_check(self, saved: Any) -> None:
        found = saved.get("fragments") if isinstance(saved, dict) else None
        if found is None:
            raise ValueError("the saved optimizer is a DistributedOptimizer, and this one takes local steps: "
                             "load its state without the entry \"weir\"")
        if not self._weir_is_member:
            return  # It is another rank's.
        if len(found) != len(self._weir_fragments):
            raise ValueError(f"the saved optimizer has {len(found)} fragments, this one has "
                             f"{len(self._weir_fragments)}: make it with the same parameters and fragments=")
        for fragment, state in zip(self._weir_fragments, found):
            fragment.check(state)

    def _weir_take(self, saved: Dict[str, Any]) -> None:
        self._weir_steps, self._weir_has_started = saved["steps"], saved["has_started"]
        for fragment, state in zip(self._weir_fragments, saved["fragments"]):
            fragment.load_state_dict(state)

    def _weir_broadcast(self, root_rank: int) -> None:
        """Called by ``broadcast_optimizer_state``. A root that is not in the set has no part in it: then the
        set's first rank is."""
        if not self._weir_is_member:
            return
        ranks = self._weir_process_set.ranks
        root_rank = root_rank if root_rank in ranks else ranks[0]
        steps = broadcast_object((self._weir_steps, self._weir_has_started), root_rank, "outer.steps",
                                 self._weir_process_set)
        self._weir_steps, self._weir_has_started = steps
        for fragment in self._weir_fragments:
            fragment.broadcast(root_rank)
