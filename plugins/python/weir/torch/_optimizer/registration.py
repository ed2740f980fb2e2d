"""Parameters that an optimizer exchanges, and the exchange of each.

Parameters adopted together with equal compression are one group of the engine's.
"""

import collections
import functools
from typing import Any, Dict, List

import torch

from weir import _job
from weir._process_sets import id_for
from weir.torch._compression.options import averaging_compressor
from weir._ops import reduce_op
from weir.torch._optimizer import loss_scale, momentum, options_by_name, skip_nonfinite, unfinished
from weir.torch._optimizer.exchange.averaging import Reduction, without_factors
from weir.torch._optimizer.exchange.fused import FusedExchange
from weir.torch._optimizer.exchange.member import Member
from weir.torch._optimizer.exchange.one_by_one import SingleExchange
from weir.torch._optimizer.exchange.own_compressor import OwnExchange
from weir.torch._optimizer.exchange.sparse import SparseExchange
from weir.torch._optimizer.parameter_slot import Slot
from weir.torch._optimizer.step_state import State

_FUSED = frozenset({torch.float32, torch.float16, torch.bfloat16})


def adopt_new_parameters(optimizer: Any) -> None:
    """Registers parameters that the parameter groups have gained. Collective."""
    if not optimizer._weir_is_member:
        return  # It takes steps alone: without hooks or exchange.
    for group in optimizer.param_groups[len(optimizer._weir_plans):]:
        optimizer._weir_plans.append(
            momentum.plan(optimizer, group, optimizer._weir_tensor_options.base))
    optimizer._weir_compresses = any(plan.compression for plan in optimizer._weir_plans)
    optimizer._weir_adoptions += 1
    optimizer._weir_has_new = True
    optimizer._weir_frozen = [parameter for group in optimizer.param_groups
                              for parameter in group["params"] if not parameter.requires_grad]
    for number, group in enumerate(optimizer.param_groups):
        for i, parameter in enumerate(group["params"]):
            if (parameter in optimizer._weir_slots or not parameter.requires_grad
                    or parameter in optimizer._weir_left_out):
                continue
            name = optimizer._weir_given_names.get(parameter, f"group{number}.parameter{i}")
            slot = optimizer._weir_slot(name, parameter, number, optimizer._weir_adoptions)
            slot.plan = options_by_name.plan_of(optimizer, slot)
            slot.renew(optimizer._weir_passes)
            optimizer._weir_slots[parameter] = slot
            optimizer._weir_attach(slot)
    options_by_name.warn(optimizer)
    mark_state(optimizer)
    # A rank that is new in an elastic job makes its optimizer while the others train. All register in
    # their next step, as after every change of the ranks.
    if _job.engine().epoch == 1:
        register_new(optimizer)


def mark_state(optimizer: Any) -> None:
    """Gives parameters an entry without content where the wrapped optimizer has no state of its own:
    torch.distributed.checkpoint takes a step with zeros while there is none, and the compressor would take
    part in it."""
    def keeps_nothing(parameter: torch.Tensor, group: Dict[str, Any]) -> bool:
        slot = optimizer._weir_slots.get(parameter)
        return ((slot is not None and bool(slot.plan.taken))
                or (isinstance(optimizer, torch.optim.SGD) and not group["momentum"]))

    if all(keeps_nothing(parameter, group) for group in optimizer.param_groups for parameter in group["params"]
           if parameter.requires_grad):
        for parameter in optimizer._weir_slots:
            optimizer.state.setdefault(parameter, {})


def register_new(optimizer: Any) -> None:
    """Registers parameters without an exchange: new ones, or all of them in a new job. Collective if there
    are any."""
    if not optimizer._weir_has_new:
        return
    fresh: Dict[Any, List[Slot]] = collections.OrderedDict()
    for slot in optimizer._weir_slots.values():
        if slot.exchange is None:
            fresh.setdefault((slot.adoption, _kind(optimizer, slot)), []).append(slot)
    for (_, kind), slots in fresh.items():
        _register(optimizer, kind, slots)
    optimizer._weir_holds_back = skip_nonfinite.must_agree(optimizer)
    note_exchanges(optimizer)
    ranks = optimizer._weir_process_set.ranks
    optimizer._weir_place = (ranks.index(_job.rank()), len(ranks), len(optimizer._weir_exchanges))


def note_exchanges(optimizer: Any) -> None:
    """Finds out whether a step can be taken back (``dropped_passes``): ranks agree on that by a
    group of the engine's."""
    fused = [exchange for exchange in optimizer._weir_exchanges
             if isinstance(exchange, FusedExchange)]
    optimizer._weir_drops = _job.engine().dropped_passes
    optimizer._weir_can_drop = (optimizer._weir_drops and bool(fused)
                                and all(exchange.can_drop for exchange in fused))


def leave(optimizer: Any) -> None:
    """Releases all exchanges, as the job ends. The first step in another job registers again."""
    unfinished.release(optimizer._weir_exchanges)
    optimizer._weir_exchanges = []
    optimizer._weir_sparse = SparseExchange(optimizer._weir_name, optimizer._weir_reduction,
                                            optimizer._weir_process_set)
    for slot in optimizer._weir_slots.values():
        slot.renew(optimizer._weir_passes)
    optimizer._weir_has_new = True
    optimizer._weir_scale.end_step()
    optimizer._weir_awaits_step = False
    optimizer._weir_can_drop = False
    # A rank that is new in an elastic job has seen nothing either.
    optimizer._weir_renew_history()
    optimizer._weir_state = State.STEPPED


def _kind(optimizer: Any, slot: Slot) -> Any:
    """Returns the common properties of an exchange's parameters; None: exchanged one by one."""
    dtype = slot.parameter.dtype
    if (dtype not in _FUSED
            or optimizer._weir_reduction.op not in (reduce_op.Average, reduce_op.Sum)):
        momentum.check_single(slot.plan, slot.name, dtype)
        return None
    return tuple(sorted(optimizer._weir_plans[slot.group].compression.items()))


def _register(optimizer: Any, kind: Any, slots: List[Slot]) -> None:
    name = f"{optimizer._weir_name}/{len(optimizer._weir_exchanges)}"
    count = len(optimizer._weir_slots)
    reduction: Reduction = optimizer._weir_reduction._replace(
        process_set=id_for(optimizer._weir_process_set, "DistributedOptimizer"))
    members = [Member(slot.name, slot.local, optimizer.param_groups[slot.group], count - i,
                      options_by_name.own_options(optimizer, slot))
               for i, slot in enumerate(slots)]
    if optimizer._weir_compressor is not None:
        exchange: Any = OwnExchange(name, members, reduction, optimizer._weir_compressor,
                                    optimizer._weir_process_set)
    elif kind is None:
        exchange = SingleExchange(name, members, reduction)
    else:
        if any(averaging_compressor(slot.plan.compression) for slot in slots):
            reduction = without_factors(reduction)
        exchange = FusedExchange(name, members, dict(kind), _also_equal(optimizer, slots),
                                 reduction, optimizer._weir_by_priority)
        if exchange.compression:
            loss_scale.watch()
        plan = optimizer._weir_plans[slots[0].group]
        if plan.taken:
            exchange.momentum = (momentum.momentum_now(plan.taken, plan),
                                 functools.partial(momentum.momentum_now, plan_=plan))
    for index, slot in enumerate(slots):
        slot.exchange, slot.index = exchange, index
    optimizer._weir_exchanges.append(exchange)


def _also_equal(optimizer: Any, slots: List[Slot]) -> Dict[str, str]:
    """Returns further values that must be equal on all ranks."""
    plan = optimizer._weir_plans[slots[0].group]
    return {"optimizer": type(optimizer).__name__,
            "backward passes per step": str(optimizer._weir_passes),
            "weight decay": repr(plan.weight_decay),
            "look ahead": repr(plan.look_ahead),
            **options_by_name.patterns(optimizer._weir_options)}
