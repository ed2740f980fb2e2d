"""A look at every function of PyTorch that a program calls, before it reads a parameter."""

import weakref
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple, Type

import torch
from torch.overrides import TorchFunctionMode

_GETTERS = ("shape", "requires_grad", "grad_fn", "is_leaf", "dtype", "device", "layout", "ndim", "is_cuda",
            "is_sparse", "is_meta", "_version", "_backward_hooks")
_METHODS = ("size", "dim", "numel", "stride", "is_contiguous", "is_floating_point", "element_size", "requires_grad_",
            "register_hook")
_GRADIENT: Any = torch.Tensor.grad
# They do not read values.
_HARMLESS = {*(getattr(torch.Tensor, name).__get__ for name in _GETTERS), _GRADIENT.__set__,
             *(getattr(torch.Tensor, name) for name in _METHODS)}


def _tensors(values: Sequence[Any]) -> Iterator[torch.Tensor]:
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors(value)


class ParameterWatch(TorchFunctionMode):
    """Calls its owner's ``_weir_before_use`` with the tensors that a function is given, and whose values it may
    read, and ``_weir_before_gradient`` with a tensor whose gradient is read.

    The owner is not kept alive. Of the thread that enters it, outside of compiled code.
    """

    def __init__(self, owner: Any) -> None:
        super().__init__()
        self._owner = weakref.ref(owner)
        self._is_entered = False

    def __torch_function__(self, func: Callable[..., Any], types: Sequence[Type[Any]], args: Tuple[Any, ...] = (),
                           kwargs: Optional[Dict[str, Any]] = None) -> Any:
        owner = self._owner()
        if owner is None or func in _HARMLESS:
            pass
        elif func == _GRADIENT.__get__:
            owner._weir_before_gradient(args[0])
        else:
            owner._weir_before_use(_tensors((*args, *kwargs.values()) if kwargs else args))
        return func(*args, **(kwargs or {}))

    def enter(self) -> None:
        """Begins, if it has not, below the modes that the program has entered: it leaves them in its own order."""
        if not self._is_entered:
            self._is_entered = True
            _push([self, *_popped()])

    def leave(self) -> None:
        """Ends, if it has begun. Without effect while one of its calls is under way."""
        if self._is_entered:
            found = _popped()
            self._is_entered = self not in found
            _push(mode for mode in found if mode is not self)


def _push(modes: Iterable[Any]) -> None:
    for mode in modes:
        torch._C._push_on_torch_function_stack(mode)


def _popped() -> List[Any]:
    """Takes all modes away, and returns them, the one below first."""
    found = [torch._C._pop_torch_function_stack() for _ in range(torch._C._len_torch_function_stack())]
    return found[::-1]
