"""Each of these programs runs with cross_barrier, too, where its optimizer can have that."""

import pytest
import torch

import compared

_CAN_CROSS = hasattr(torch.nn.Module, "register_state_dict_pre_hook")  # From PyTorch 2 on.


@pytest.fixture(autouse=True, params=["ordinary", "crossed"] if _CAN_CROSS else ["ordinary"])
def crosses_barriers(request, monkeypatch):
    monkeypatch.setattr(compared.Rank, "crosses", request.param == "crossed")
