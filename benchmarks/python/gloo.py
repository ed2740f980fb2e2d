"""torch.distributed on gloo beside Weir, among the same processes: the yardstick."""

import os
import socket

import torch.distributed

import weir.torch as hvd


def join():
    """Joins both jobs. Every rank calls it."""
    hvd.init()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = hvd.broadcast_object(probe.getsockname()[1])
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    torch.distributed.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}",
                                         rank=hvd.rank(), world_size=hvd.size())


def leave():
    """Leaves both."""
    torch.distributed.destroy_process_group()
    hvd.shutdown()
