"""The ranks of a job run these tests side by side: `weirrun -np N python -m pytest tests/python`.

All ranks run the same tests in the same order. A test that fails on one rank alone may leave the
others waiting in the next one: the first failure ends a rank, and with it the job.
"""

import pytest

import weir.torch as hvd


def pytest_configure(config):
    config.option.maxfail = 1
    config.addinivalue_line("markers", "gpu: takes a CUDA device")
    config.addinivalue_line("filterwarnings", "ignore:Weir takes over")
    config.addinivalue_line("filterwarnings", "ignore:what rank . of . had not sent")


@pytest.fixture(scope="session", autouse=True)
def job():
    hvd.init()
    yield
    hvd.shutdown()


@pytest.fixture
def rank():
    return hvd.rank()


@pytest.fixture
def size():
    return hvd.size()


@pytest.fixture(autouse=True)
def side_by_side(job):
    """Makes ranks begin a test only when all have ended the one before."""
    hvd.barrier()


@pytest.fixture
def folder(tmp_path, monkeypatch, rank, size):
    """For a test that starts jobs of its own, on a job of one rank."""
    if size > 1:
        pytest.skip("starts its own ranks")
    # This test is a rank itself; its children belong to another job.
    for name in ("PMI_RANK", "PMI_SIZE", "PMI_FD", "WEIR_SUPERVISOR_FD"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path
