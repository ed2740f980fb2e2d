"""torch.distributed beside Weir, among the same processes, as the yardstick."""

import os
import socket

import torch.distributed

import weir.torch as hvd


def join(backend):
    """Joins both jobs, torch.distributed's with that backend, on one host or on those of scripts/netlab. Every rank calls it."""
    hvd.init()
    address = os.environ.get("MASTER_ADDR", "127.0.0.1")
    with socket.socket() as probe:
        if hvd.rank() == 0:
            probe.bind((address, 0))
        port = hvd.broadcast_object(probe.getsockname()[1] if hvd.rank() == 0 else None)
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    torch.distributed.init_process_group(backend, init_method=f"tcp://{address}:{port}",
                                         rank=hvd.rank(), world_size=hvd.size())


def leave():
    """Leaves both."""
    torch.distributed.destroy_process_group()
    hvd.shutdown()
