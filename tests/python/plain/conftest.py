"""Each of these programs runs with cross_barrier, too, where its optimizer can have that."""

import pytest

import compared
from crossing import CAN_CROSS


@pytest.fixture(autouse=True, params=["ordinary", "crossed"] if CAN_CROSS else ["ordinary"])
def crosses_barriers(request, monkeypatch):
    monkeypatch.setattr(compared.Rank, "crosses", request.param == "crossed")
