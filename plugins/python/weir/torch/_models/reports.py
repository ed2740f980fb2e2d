"""What a trainer shows of the exchange beside the loss."""

from typing import Any, Dict

from weir.torch._models import optimizers
from weir.torch._optimizer.exchange.fused import report_of


def of(model: Any, optimizer: Any) -> Dict[str, float]:
    """Returns "density", the part of the entries that this rank has sent in the last step, and "sent_MB",
    the megabytes that it has sent for them; empty before the first step. Waits for the GPU's work."""
    buckets = getattr(getattr(model, "_orig_mod", model), "_weir_buckets", None)
    exchanges = getattr(optimizers.within(optimizer), "_weir_exchanges", None)
    if exchanges is None:
        exchanges = [] if buckets is None else buckets.exchanges
    report = report_of(exchanges)
    return {} if report is None else {"density": report.density, "sent_MB": report.wire_bytes / 1e6}
