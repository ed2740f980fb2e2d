"""What the benchmark local-steps compares: how AdamW is wrapped, by functions of weir.torch and the optimizer."""

ALONE = "alone"  # No exchange: each rank by itself.


def _every_step(compression):
    return lambda hvd, optimizer, named: hvd.DistributedOptimizer(optimizer, named, compression)


def _outer(compression, **arguments):
    return lambda hvd, optimizer, named: hvd.Outer(optimizer, named, compression=compression, **arguments)


_INT8 = {"compressor": "int8", "ef": "vanilla"}
_TOPK = {"compressor": "topk", "k": 0.03, "values": "int2", "ef": "vanilla"}
_ONEBIT = {"compressor": "onebit", "scaling": True, "ef": "vanilla"}
COLUMNS = {
    ALONE: lambda hvd, optimizer, named: optimizer,
    "dense": _every_step("dense"),
    "powersgd": _every_step({"compressor": "powersgd"}),
    "dgc-adam": _every_step({"compressor": "dgc", "density": 0.001, "momentum": "adam"}),
    "outer-int8": _outer(_INT8),
    "outer-onebit": _outer(_ONEBIT),
    "outer-onebit-overlap": _outer(_ONEBIT, overlap=10, fragments=3),
    "outer-topk-overlap": _outer(_TOPK, overlap=10, fragments=3),
}
LOCAL = ("outer-onebit-overlap", "outer-topk-overlap")  # Must hide their exchange.
