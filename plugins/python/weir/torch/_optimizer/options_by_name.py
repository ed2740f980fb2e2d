"""Parameters of a DistributedOptimizer with compression options of their own, by their names."""

import warnings
from typing import Any, Dict, List

from weir import _job
from weir._options import Options
from weir.torch._optimizer import momentum


def plan_of(optimizer: Any, slot: Any) -> momentum.Plan:
    """Returns the plan of one parameter: its group's, unless a pattern has other options.

    Raises ValueError as ``momentum.plan`` does, and if patterns contradict each other.
    """
    options = optimizer._weir_tensor_options
    if not options.has_patterns:
        return optimizer._weir_plans[slot.group]
    # Weight decay is the optimizer's, for any compressor of its parameters.
    decay = {key: value for key, value in optimizer._weir_options.items()
             if key in ("weight_decay", "weight_decay_form")}
    return momentum.plan(optimizer, optimizer.param_groups[slot.group],
                         {**options.of(slot.name), **decay})


def own_options(optimizer: Any, slot: Any) -> Options:
    """Returns the parameter's options, if they differ from its group's."""
    base = optimizer._weir_plans[slot.group]
    return slot.plan.compression if slot.plan != base else {}


def patterns(options: Options) -> Dict[str, str]:
    """Returns the options that carry a pattern: ranks must agree on them, whatever they match."""
    return {key: value for key, value in options.items() if "[" in key}


def unmatched(optimizer: Any, names: List[str], kind: str) -> str:
    """Describes patterns of the optimizer's options that match none of the names; empty: each matches one.

    Raises ValueError for such patterns under strict settings.
    """
    found: str = optimizer._weir_tensor_options.check_matches(names, kind, _job.engine().strict)
    return found


def warn(optimizer: Any) -> None:
    """Warns, on one rank, about the parameters that were just adopted.

    Raises ValueError under strict settings for patterns that match none of them.
    """
    if not optimizer._weir_is_the_program_s:
        return
    kind = type(optimizer).__name__
    adopted = [slot for slot in optimizer._weir_slots.values()
               if slot.adoption == optimizer._weir_adoptions]
    taken = dict.fromkeys(momentum.described(slot.plan) for slot in adopted)
    found = [f"Weir takes over from {kind}: {values}. The learning rate stays the optimizer's."
             for values in taken if values]
    if optimizer._weir_adoptions == 1:
        found.append(unmatched(optimizer, [slot.name for slot in adopted], kind))
    if _job.rank() == optimizer._weir_process_set.ranks[0]:
        for text in filter(None, found):
            warnings.warn(text, stacklevel=5)
