"""torch.distributed beside Weir, among the same processes."""

import datetime
import os
import socket

import pytest
import torch.distributed as dist

import weir.torch as hvd


@pytest.fixture(scope="session", autouse=True)
def process_group(job):
    with socket.socket() as probe:
        if hvd.rank() == 0:
            probe.bind(("127.0.0.1", 0))
        port = hvd.broadcast_object(probe.getsockname()[1] if hvd.rank() == 0 else None)
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=hvd.rank(),
                            world_size=hvd.size(), timeout=datetime.timedelta(seconds=60))
    yield
    dist.destroy_process_group()
