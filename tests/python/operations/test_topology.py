"""Places of ranks, and properties of the build."""

import json
import os
import time

import pytest
import torch

import weir.torch as hvd
from weir import _job, _topology


def test_ranks_on_one_host(rank, size):
    assert (hvd.local_rank(), hvd.local_size()) == (rank, size)
    assert (hvd.cross_rank(), hvd.cross_size()) == (0, 1)
    assert hvd.is_homogeneous()


def test_hosts_of_unequal_size():
    # Host a has ranks 0 and 1, host b rank 2, host c ranks 3 to 5.
    local_ranks, local_sizes = [0, 1, 0, 0, 1, 2], [2, 2, 1, 3, 3, 3]
    found = [_topology.of(rank, local_ranks, local_sizes) for rank in range(6)]
    assert [place.cross_rank for place in found] == [0, 0, 1, 2, 1, 0]
    assert [place.cross_size for place in found] == [3, 2, 3, 3, 2, 1]
    assert not any(place.is_homogeneous for place in found)


def test_hosts_of_equal_size_whose_ranks_alternate():
    local_ranks, local_sizes = [0, 0, 1, 1], [2, 2, 2, 2]
    found = [_topology.of(rank, local_ranks, local_sizes) for rank in range(4)]
    assert [(place.cross_rank, place.cross_size) for place in found] == [
        (0, 2), (1, 2), (0, 2), (1, 2)]
    assert all(place.is_homogeneous for place in found)


def test_every_rank_learns_of_all_hosts_when_it_joins(rank, size, monkeypatch):
    with monkeypatch.context() as launcher:
        # Rank 0 alone on its host, the others together on theirs.
        launcher.setenv("WEIR_LAUNCHER_LOCAL_RANK", str(max(0, rank - 1)))
        launcher.setenv("WEIR_LAUNCHER_LOCAL_SIZE", "1" if rank == 0 else str(size - 1))
        hvd.shutdown()
        hvd.init()
        hosts = min(size, 2)
        expected = (rank, hosts) if rank < 2 else (0, 1)
        assert (hvd.cross_rank(), hvd.cross_size()) == expected
        assert hvd.is_homogeneous() is (size <= 2)
    hvd.shutdown()
    with pytest.raises(ValueError, match="use hvd.init()"):
        hvd.cross_size()
    hvd.init()
    assert (hvd.cross_size(), hvd.local_size()) == (1, size)


def test_what_is_built():
    assert hvd.mpi_built() is True
    assert hvd.mpi_enabled() is ("PMI_RANK" in os.environ)
    assert hvd.mpi_threads_supported() is hvd.mpi_enabled()
    assert type(hvd.nccl_built()) is int
    for name in ("gloo_built", "gloo_enabled", "ddl_built", "ccl_built", "rocm_built"):
        assert getattr(hvd, name)() is False
    assert hvd.cuda_built() is os.path.exists(os.environ.get("WEIR_GPU_LIBRARY", ""))


def events_of(path):
    return [event["name"] for event in json.loads(path.read_text())]


def test_a_timeline_has_what_was_done_between_start_and_stop(rank, tmp_path):
    first, second = tmp_path / "first.json", tmp_path / "second.json"

    def file_of(path):
        return path if rank == 0 else path.with_name(f"{path.stem}.rank{rank}.json")

    hvd.stop_timeline()  # None is written.
    hvd.allreduce(torch.ones(1), name="before")
    hvd.start_timeline(str(first), mark_cycles=True)
    hvd.allreduce(torch.ones(1), name="seen")
    hvd.start_timeline(str(second))
    hvd.allgather(torch.ones(1), name="later")
    hvd.stop_timeline()
    hvd.allreduce(torch.ones(1), name="after")
    text = file_of(first).read_text()
    assert "allreduce.seen" in text and "before" not in text and "later" not in text
    assert {"NEGOTIATE_ALLREDUCE", "ALLREDUCE", "CYCLE_START"} <= set(events_of(file_of(first)))
    text = file_of(second).read_text()
    assert "allgather.later" in text and "seen" not in text and "after" not in text
    assert "CYCLE_START" not in events_of(file_of(second))


def test_a_timeline_that_cannot_be_written_is_named(size):
    with pytest.raises(ValueError, match="/nonexistent/run"):
        hvd.start_timeline("/nonexistent/run.json")
    assert hvd.allreduce(torch.ones(1), op=hvd.Sum).item() == size


def test_what_needs_a_job_says_so_without_one(tmp_path):
    left = _job.engine()
    hvd.shutdown()
    for call in (hvd.rank, hvd.size, hvd.stop_timeline, hvd.barrier,
                 lambda: hvd.start_timeline(str(tmp_path / "t.json"))):
        with pytest.raises(ValueError, match="Horovod has not been initialized; use hvd.init()."):
            call()
    with pytest.raises(hvd.ShutDown, match="Horovod has been shut down. This was caused by an "
                                           "exception on one of the ranks or .* has left the job"):
        left.barrier("late")
    hvd.init()


def test_an_idle_job_leaves_the_processors_to_the_program():
    """Processor time: other work of the machine makes the test longer, and the idle job's part with it."""
    hvd.allreduce(torch.ones(4))

    def of_other_threads():
        return time.process_time() - time.thread_time()

    before, began, begin = of_other_threads(), time.thread_time(), time.monotonic()
    while time.thread_time() - began < 0.3:
        pass
    assert of_other_threads() - before < 0.1 * (time.monotonic() - begin)


def test_a_forked_child_knows_where_its_parent_sits(rank, size):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:  # As a data loader's worker does.
        try:
            answers = [hvd.rank(), hvd.size(), hvd.local_rank(), hvd.local_size(),
                       hvd.cross_rank(), hvd.cross_size(), hvd.is_homogeneous()]
            for call in (hvd.init, hvd.barrier):
                try:
                    call()
                    answers.append("no error")
                except hvd.ShutDown as error:
                    answers.append(str(error))
            os.write(write, json.dumps(answers).encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as answers:
        found = json.load(answers)
    os.waitpid(child, 0)
    assert found[:7] == [rank, size, rank, size, 0, 1, True]
    assert all("was forked from a rank" in text for text in found[7:])
