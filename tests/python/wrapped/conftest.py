"""torch.distributed beside Weir, among the same processes."""

import datetime
import os

import pytest
import torch.distributed as dist


@pytest.fixture(scope="session", autouse=True)
def process_group(job):
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    # weirrun has told where the ranks meet, as torchrun does.
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=60))
    yield
    dist.destroy_process_group()
