"""What shards have not sent yet, in tensors that ``torch.distributed.checkpoint`` moves to another mesh.

Each array of a compressor's memory has one value for each of a shard's, and differs between replicas. All
of one parameter are one DTensor: a row for each replica, of the parameter's shape and sharded as it is.
"""

import math
import warnings
from typing import Any, Dict, Iterator, List, Set, Tuple

import torch

from weir.errors import InvalidArgument
from weir.torch._optimizer import adam, saved_state, weight_decay
from weir.torch._optimizer.exchange.fused import FusedExchange

Entries = Dict[str, Any]  # The optimizer's state of a parameter.

PREFIX = "weir_"
_UNSENT = ("velocity", "error")  # Whether a shard has one or the other, or none, depends on its size.
_DECAY = "weir_decay_momentum"
_MOMENT_STEPS = "weir_moment_steps"  # The same number for all values.
# The last step's number, and the learning rate, momentum and momentum of the weight decay in it. NaN: none.
_COUNTERS = "weir_counters"


def mesh_of(replicate: Any, mesh: Any) -> Any:
    """Returns the mesh of the replicas and of shards, which are on the given one. None: the program has given
    the replicas as something else than a dimension of the named mesh that the shards are on."""
    if not hasattr(replicate, "get_group") or not replicate.mesh_dim_names or not mesh.mesh_dim_names:
        return None
    try:
        if hasattr(replicate, "_get_root_mesh"):
            root = replicate._get_root_mesh()
        else:
            from torch.distributed.device_mesh import _mesh_resources
            root = _mesh_resources.get_root_mesh(replicate)
        return root[(*replicate.mesh_dim_names, *mesh.mesh_dim_names)]
    except (KeyError, RuntimeError):  # They lie otherwise.
        return None


def move_out(optimizer: Any, found: Dict[str, Any]) -> None:
    """Moves what has rows from a state's bytes, which fit one mesh alone, into the states of parameters."""
    weir = found["weir"] = {**found["weir"], "exchanges": list(found["weir"]["exchanges"])}  # Others keep it.
    keys = _keys(optimizer, found)
    for number, exchange, slots in _with_rows(optimizer):
        if weir["exchanges"][number] is None:
            continue
        state = _read(weir["exchanges"][number])
        arrays = _by_tensor(state)
        moved = 0
        for slot in slots:
            key = keys[slot.parameter]
            entries = found["state"][key] = dict(found["state"].get(key, {}))  # Not the optimizer's own.
            for name, parts in _arrays_of(arrays, slot):
                moved += len(parts)
                entries[name] = (_values(parts[0].values) if name == _MOMENT_STEPS else
                                 _as_row(b"".join(part.values for part in parts), slot))
            for name in _expected(slot.plan):
                if name not in entries:
                    entries[name] = _as_row(bytes(4 * slot.local.numel()), slot)
            group = exchange.number_of(optimizer.param_groups[slot.group])
            entries[_COUNTERS] = torch.tensor([
                state.step, *(values[group] if values else math.nan
                              for values in (state.learning_rates, weir["momenta"][number])),
                weir["decay_momenta"].get(slot.name, math.nan)], dtype=torch.float64)
            if weight_decay.has_momentum(slot.plan):  # Also before the first step: what is loaded into it.
                b = weir["decay"].get(slot.name)
                entries[_DECAY] = (torch.zeros_like(slot.parameter.detach(), dtype=torch.float32) if b is None
                                   else b.clone())
        if moved == len(state.arrays):
            weir["exchanges"][number] = None


def move_in(optimizer: Any, state_dict: Dict[str, Any]) -> Dict[str, Any]:
    """Reverses ``move_out``, on the same mesh or another one: returns a state with its rows in bytes. Raises
    ValueError if there is no job that they could belong to."""
    rows, rest = without_rows(state_dict)
    if not any(rows.values()) and rest.get("weir") is None:
        _warn_of_nothing(optimizer, rest)
    if not any(rows.values()) or not saved_state.is_of(optimizer, rest.get("weir")):
        return rest
    if not optimizer._weir_exchanges:
        raise InvalidArgument("load_state_dict() of an optimizer that takes part in no job any more: what was "
                              "not sent yet would be lost; load it before the job ends")
    saved = {key: (value.copy() if isinstance(value, (list, dict)) else value)
             for key, value in (rest.get("weir") or saved_state.save(optimizer)).items()}
    keys = _keys(optimizer, state_dict)
    left_out: Set[str] = set()
    for number, exchange, slots in _with_rows(optimizer):
        given = saved["exchanges"][number] if "weir" in rest else None
        state = _read(saved_state.as_tensor(exchange.save()) if given is None else given)
        arrays = _by_tensor(state)
        rates, momenta = exchange.rates_and_momenta_now()
        found: List[torch.Tensor] = []
        for slot in slots:
            entries = rows.get(keys.get(slot.parameter), {})
            for name, parts in _arrays_of(arrays, slot):
                if name in entries:
                    _fill(parts, _own_row(entries.pop(name), slot))
            left_out |= entries.keys() - {_COUNTERS, _DECAY, *_expected(slot.plan)}
            if _COUNTERS not in entries:
                continue
            found.append(entries[_COUNTERS])
            step, rate, momentum, decay = found[-1].tolist()
            group = exchange.number_of(optimizer.param_groups[slot.group])
            state.step, rates[group], momenta[group] = int(step), rate, momentum
            if _DECAY in entries and not math.isnan(decay):
                saved["decay"][slot.name], saved["decay_momenta"][slot.name] = entries[_DECAY], decay
        if found:
            state.learning_rates, saved["momenta"][number] = _all_or_none(rates), _all_or_none(momenta)
            saved["step"] = state.step
        saved["exchanges"][number] = saved_state.as_tensor(state.save())
    if left_out:
        warnings.warn(f"the state has {', '.join(sorted(left_out))}, which this optimizer's compressor has no use "
                      "for: it is left out")
    return {**rest, "weir": saved}


def _warn_of_nothing(optimizer: Any, state_dict: Dict[str, Any]) -> None:
    plans = [slot.plan for slot in optimizer._weir_slots.values()]
    keeps_momentum = any(isinstance(entries, dict) and entries.get("momentum_buffer") is not None
                         for entries in state_dict["state"].values())
    remembers = any(plan.kind != "none" or saved_state.holds_back(plan.compression) for plan in plans)
    if remembers and not keeps_momentum:
        warnings.warn("the state has nothing of what the compressor keeps, such as momentum and what was not sent "
                      "yet, so that begins at zero: flatten_optimizer_state_dict=True leaves it out, and a "
                      "checkpoint of training without Weir is loaded before compress()")


def without_rows(state_dict: Dict[str, Any]) -> Tuple[Dict[Any, Entries], Dict[str, Any]]:
    """Returns the rows of each parameter, and the state without them."""
    rows: Dict[Any, Entries] = {}
    rest = dict(state_dict["state"])
    for i, entries in state_dict["state"].items():
        if isinstance(entries, dict):
            rows[i] = {key: value for key, value in entries.items() if str(key).startswith(PREFIX)}
            rest[i] = {key: value for key, value in entries.items() if key not in rows[i]}
    return rows, {**state_dict, "state": rest}


def _all_or_none(values: List[float]) -> List[float]:
    return [] if any(map(math.isnan, values)) else values


def _keys(optimizer: Any, state_dict: Dict[str, Any]) -> Dict[torch.Tensor, Any]:
    """Returns the keys of the parameters in a state."""
    return {parameter: key for group, saved in zip(optimizer.param_groups, state_dict["param_groups"])
            for parameter, key in zip(group["params"], saved["params"])}


def _with_rows(optimizer: Any) -> Iterator[Tuple[int, FusedExchange, List[Any]]]:
    """Yields each exchange that has rows, its number, and its parameters that have them."""
    from torch.distributed.tensor import Replicate, Shard

    for number, exchange in enumerate(optimizer._weir_exchanges):
        slots = [slot for slot in optimizer._weir_slots.values()
                 if slot.exchange is exchange and slot.mesh_of_rows is not None
                 and all(type(one) in (Shard, Replicate) for one in slot.parameter.placements)]
        if slots and isinstance(exchange, FusedExchange):
            yield number, exchange, slots


def _expected(plan: Any) -> Iterator[str]:
    """Yields the keys that all shards of a parameter have, also one that is too small for its compressor."""
    if saved_state.holds_back(plan.compression):
        yield PREFIX + "unsent"
    if saved_state.has_momentum(plan.compression) and plan.kind != adam.KIND:
        yield PREFIX + "momentum"


def _by_tensor(state: Any) -> Dict[str, List[Any]]:
    """Returns a state's arrays by the name of the tensor, or of the piece of it that the engine has cut off."""
    found: Dict[str, List[Any]] = {}
    for array in state.arrays:
        tensor, _, piece = array.tensor.rpartition("#")
        found.setdefault(tensor if piece.isdigit() else array.tensor, []).append(array)
    return found


def _arrays_of(arrays: Dict[str, List[Any]], slot: Any) -> Iterator[Tuple[str, List[Any]]]:
    """Yields the key of each array that another mesh has a use for, and the array's pieces."""
    found: Dict[str, List[Any]] = {}
    for array in arrays.get(slot.name, ()):
        name = "unsent" if array.name in _UNSENT else array.name.replace(" ", "_")
        found.setdefault(PREFIX + name, []).append(array)
    for key, parts in found.items():
        if key == _MOMENT_STEPS or sum(part.count for part in parts) == slot.local.numel():
            yield key, parts


def _as_row(values: bytes, slot: Any) -> Any:
    from torch.distributed.tensor import DTensor, Shard

    shape = torch.Size((slot.mesh_of_rows.size(0), *slot.parameter.shape))
    placements = [Shard(0), *(Shard(one.dim + 1) if isinstance(one, Shard) else one
                              for one in slot.parameter.placements)]
    return DTensor.from_local(_values(values).view(1, *slot.local.shape), slot.mesh_of_rows, placements,
                              run_check=False, shape=shape, stride=torch.empty(shape, device="meta").stride())


def _own_row(given: Any, slot: Any) -> Any:
    """Returns this rank's row; of more or fewer replicas the mean (a full state). Collective then."""
    if not hasattr(given, "to_local") or given.shape[0] == slot.mesh_of_rows.size(0):
        return given
    from torch.distributed.tensor import Replicate

    every = given.redistribute(given.device_mesh, [Replicate(), *given.placements[1:]]).to_local()
    return _as_row(_bytes(every.double().mean(0)), slot)


def _fill(parts: List[Any], given: Any) -> None:
    local = given.to_local() if hasattr(given, "to_local") else given.repeat(len(parts))
    values, begin = _bytes(local), 0
    for part in parts:
        end = begin + 4 * part.count
        part.values = values[begin:end]
        begin = end


def _bytes(values: torch.Tensor) -> bytes:
    saved: bytes = values.to("cpu", torch.float32).contiguous().view(-1).view(torch.uint8).numpy().tobytes()
    return saved


def _values(saved: bytes) -> torch.Tensor:
    return saved_state.as_tensor(saved).view(torch.float32)


def _read(saved: torch.Tensor) -> Any:
    from weir import _core

    return _core.SavedState(saved.numpy().tobytes())
