"""Exchange of a bucket's gradients one by one, for optimizers whose compressors remember something of
each."""

import functools
import weakref
from typing import Any, Dict, List, Optional, Tuple

import torch

from weir._process_sets import ProcessSet
from weir.torch._models.hook import Buckets
from weir._ops import handles
from weir.torch._ops.allreduce import allreduce_async_
from weir.torch._optimizer.by_buckets import ByBuckets
from weir.torch._optimizer.parameter_slot import Slot


class ParameterBuckets(Buckets):
    """Hands each gradient to the optimizer that its parameter belongs to. The bucket's memory is what is
    exchanged, and holds the results."""

    def __init__(self, model: Any, process_set: ProcessSet, are_steps: bool = False) -> None:
        """`are_steps`: each pass is a step; nobody tells of those."""
        super().__init__(model, process_set)
        self._are_steps = are_steps
        self.process_set = process_set
        self._owners: Dict[torch.Tensor, Tuple[ByBuckets, Slot]] = {}
        self._optimizers: List[ByBuckets] = []
        self._others: List[int] = []  # All-reduces of parameters without an optimizer.
        self._name = f"DistributedDataParallel.{process_set._next_number('model')}"

    def add(self, optimizer: ByBuckets) -> None:
        """Makes the optimizer learn of its parameters' gradients."""
        # One that had some of these parameters before is not used any more.
        self._optimizers = [other for other in self._optimizers
                            if other._weir_slots.keys().isdisjoint(optimizer._weir_slots)] + [optimizer]
        self._owners.clear()
        former = optimizer.__dict__.get("_weir_layout_now", tuple)
        mine = weakref.ref(self)  # The model keeps the optimizer, and not the other way round.
        optimizer._weir_layout_now = lambda: (*former(), _is_rebuilt(mine()))
        model: Any = self._model()
        optimizer._weir_may_be_left_out |= bool(model.find_unused_parameters or model.static_graph)

    def _owner_of(self, parameter: torch.Tensor) -> Optional[Tuple[ByBuckets, Slot]]:
        found = self._owners.get(parameter)
        if found is None:  # New, or of no optimizer.
            for optimizer in self._optimizers:
                if parameter in optimizer._weir_slots:
                    found = self._owners[parameter] = optimizer, optimizer._weir_slots[parameter]
        return found

    def _submit(self, bucket: Any) -> Any:
        buffer = bucket.buffer()
        parameters = bucket.parameters()
        gradients = [buffer] if buffer.is_sparse else bucket.gradients()
        for i, (parameter, gradient) in enumerate(zip(parameters, gradients)):
            owner = self._owner_of(parameter)
            if owner is None:
                self._others.append(allreduce_async_(
                    gradient, name=f"{self._name}/{bucket.index()}.{i}", process_set=self.process_set))
                continue
            optimizer, slot = owner
            optimizer._weir_take(slot, _laid_out(gradient, parameter),
                                 is_used=not self._has_joined and parameter.grad is not None)
        if buffer.is_sparse:
            return lambda: parameters[0].grad
        return lambda: buffer

    def _finish(self) -> None:
        others, self._others = self._others, []
        handles.all_of([*(optimizer._weir_finish_pass for optimizer in self._optimizers),
                        *(functools.partial(handles.synchronize, each) for each in others)])
        if self._has_joined or self._are_steps:
            for optimizer in self._optimizers:
                optimizer._weir_keep_up()


def _is_rebuilt(buckets: Optional[ParameterBuckets]) -> bool:
    return buckets is not None and buckets.is_rebuilt()


def _laid_out(gradient: torch.Tensor, parameter: torch.Tensor) -> torch.Tensor:
    """Returns the gradient with the parameter's strides (channels_last), which the bucket has, too."""
    if gradient.is_sparse or parameter.is_contiguous():
        return gradient
    return gradient.as_strided(parameter.shape, parameter.stride())
