"""Horovod's modules are there by their names, and hold what the package itself holds."""

import importlib
import os
import pathlib
import subprocess
import sys

import pytest
import torch

import weir
import weir.torch as hvd

# Each module, and the names that programs import from it.
MODULES = {
    "torch.compression": "Compression Compressor",
    "torch.functions": "allgather_object broadcast_object broadcast_optimizer_state "
                       "broadcast_parameters",
    "torch.mpi_ops": "allreduce allreduce_async_ allgather broadcast_ synchronize poll join rank "
                     "size Average Sum Adasum",
    "torch.optimizer": "DistributedOptimizer",
    "torch.sync_batch_norm": "SyncBatchNorm",
    "common.process_sets": "ProcessSet add_process_set global_process_set remove_process_set",
    "common.util": "ccl_built cuda_built ddl_built gloo_built mpi_built nccl_built",
}


@pytest.mark.parametrize("module", MODULES)
def test_a_module_holds_the_packages_own(module):
    found = importlib.import_module("weir." + module)
    for name in MODULES[module].split():
        assert getattr(found, name) is getattr(hvd, name), name


def test_the_modules_are_attributes_as_horovods_are():
    """In a process of its own: an import elsewhere would make them so."""
    program = """
import weir.torch as hvd
assert hvd.compression.Compressor is hvd.Compressor
assert hvd.functions.broadcast_object is hvd.broadcast_object
assert hvd.mpi_ops.allreduce is hvd.allreduce
assert hvd.optimizer.DistributedOptimizer is hvd.DistributedOptimizer
assert hvd.sync_batch_norm.SyncBatchNorm is hvd.SyncBatchNorm
assert hvd.elastic.state.TorchState is hvd.elastic.TorchState
assert hvd.elastic.init is hvd.init
assert hvd.elastic.sampler.ElasticSampler is hvd.elastic.ElasticSampler
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=600)


def test_compressors_are_there_by_their_names():
    from weir.torch.compression import FP16Compressor, NoneCompressor

    assert FP16Compressor is hvd.Compression.fp16 and NoneCompressor is hvd.Compression.none
    assert issubclass(FP16Compressor, hvd.Compressor)


def test_exceptions_are_those_that_are_raised():
    from weir.common.exceptions import HorovodInternalError, HostsUpdatedInterrupt

    assert HorovodInternalError is hvd.HorovodInternalError
    assert HostsUpdatedInterrupt is hvd.elastic.HostsUpdatedInterrupt
    state = hvd.elastic.TorchState()
    state.on_hosts_updated()
    with pytest.raises(HostsUpdatedInterrupt):
        state.check_host_updates()


def test_a_version_that_does_not_fit_is_an_import_error():
    """Never raised here, but programs have it in an except clause."""
    from weir.common.exceptions import HorovodVersionMismatchError

    with pytest.raises(ImportError, match="built for torch 1.0, but 2.0 is installed") as caught:
        raise HorovodVersionMismatchError("torch", "1.0", "2.0")
    assert (caught.value.name, caught.value.version) == ("torch", "1.0")


def test_pytorch_is_the_framework_that_is_served():
    from weir.common import util

    assert util.extension_available("torch") and not util.extension_available("tensorflow")
    util.check_extension("horovod.torch", "HOROVOD_WITH_PYTORCH", __file__, "mpi_lib_v2")
    with pytest.raises(ImportError, match="horovod.tensorflow: Weir serves only PyTorch"):
        util.check_extension("horovod.tensorflow", "HOROVOD_WITH_TENSORFLOW", __file__)


def test_powers_of_2():
    from weir.common.util import num_rank_is_power_2

    assert [n for n in range(-2, 20) if num_rank_is_power_2(n)] == [1, 2, 4, 8, 16]


def test_the_version_is_the_projects():
    project = (pathlib.Path(__file__).parents[3] / "CMakeLists.txt").read_text()
    assert f"project(weir VERSION {weir.__version__} " in project
    with pytest.raises(AttributeError, match="module 'weir' has no attribute '__versions__'"):
        weir.__versions__


def test_run_is_where_horovods_is():
    from weir.runner import run

    assert run is weir.run


def test_variables_are_as_before_after_env(monkeypatch):
    from weir.common.util import env

    monkeypatch.setenv("WEIR_TEST_A", "1")
    monkeypatch.delenv("WEIR_TEST_B", raising=False)
    with pytest.raises(KeyError):
        with env(WEIR_TEST_A="2", WEIR_TEST_B="3", PATH=None):
            assert (os.environ["WEIR_TEST_A"], os.environ["WEIR_TEST_B"]) == ("2", "3")
            raise KeyError
    assert os.environ["WEIR_TEST_A"] == "1" and "WEIR_TEST_B" not in os.environ


@pytest.mark.parametrize("length, pieces", [(7, 3), (6, 3), (2, 4), (0, 2)])
def test_lists_are_split_evenly(length, pieces):
    from weir.common.util import split_list

    found = split_list(list(range(length)), pieces)
    assert len(found) == pieces and sum(found, []) == list(range(length))
    sizes = [len(piece) for piece in found]
    assert sizes == sorted(sizes, reverse=True) and max(sizes) - min(sizes) <= 1


def test_questions_about_what_there_is():
    from weir.common.util import gpu_available, is_iterable

    assert gpu_available("torch") is hvd.cuda_built()  # The emulated one can be used.
    assert not gpu_available("tensorflow")
    assert is_iterable([]) and is_iterable("ab") and not is_iterable(torch.nn.Identity())
