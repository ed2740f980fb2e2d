"""The package has the names and arguments of horovod.torch, and its page describes them."""

import inspect
import pathlib

import pytest

import weir
import weir.numpy
import weir.torch as hvd

import reference_page

REFERENCE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "reference"

# Arguments as horovod.torch has them, in order; more may follow.
HOROVOD = """
init(comm=None, process_sets=None)
shutdown()
is_initialized()
size()
rank()
local_size()
local_rank()
cross_size()
cross_rank()
mpi_threads_supported()
mpi_enabled()
mpi_built()
gloo_enabled()
gloo_built()
nccl_built()
ddl_built()
ccl_built()
cuda_built()
rocm_built()
start_timeline(file_path, mark_cycles=False)
stop_timeline()
allreduce(tensor, average=None, name=None, compression, op=None, prescale_factor=1.0, postscale_factor=1.0, process_set)
allreduce_(tensor, average=None, name=None, op=None, prescale_factor=1.0, postscale_factor=1.0, process_set)
allreduce_async(tensor, average=None, name=None, op=None, prescale_factor=1.0, postscale_factor=1.0, process_set)
allreduce_async_(tensor, average=None, name=None, op=None, prescale_factor=1.0, postscale_factor=1.0, process_set)
grouped_allreduce(tensors, average=None, name=None, compression, op=None, prescale_factor=1.0, postscale_factor=1.0, process_set)
grouped_allreduce_(tensors, average=None, name=None, op=None, prescale_factor=1.0, postscale_factor=1.0, process_set)
grouped_allreduce_async(tensors, average=None, name=None, op=None, prescale_factor=1.0, postscale_factor=1.0, process_set)
grouped_allreduce_async_(tensors, average=None, name=None, op=None, prescale_factor=1.0, postscale_factor=1.0, process_set)
sparse_allreduce_async(tensor, name, op, process_set)
allgather(tensor, name=None, process_set)
allgather_async(tensor, name=None, process_set)
grouped_allgather(tensors, name=None, process_set)
grouped_allgather_async(tensors, name=None, process_set)
broadcast(tensor, root_rank, name=None, process_set)
broadcast_(tensor, root_rank, name=None, process_set)
broadcast_async(tensor, root_rank, name=None, process_set)
broadcast_async_(tensor, root_rank, name=None, process_set)
alltoall(tensor, splits=None, name=None, process_set)
alltoall_async(tensor, splits=None, name=None, process_set)
reducescatter(tensor, name=None, compression, op, process_set, prescale_factor=1.0, postscale_factor=1.0)
reducescatter_async(tensor, name=None, op, process_set, prescale_factor=1.0, postscale_factor=1.0)
grouped_reducescatter(tensors, name=None, compression, op, process_set, prescale_factor=1.0, postscale_factor=1.0)
grouped_reducescatter_async(tensors, name=None, op, process_set, prescale_factor=1.0, postscale_factor=1.0)
poll(handle)
synchronize(handle)
barrier(process_set)
broadcast_parameters(params, root_rank)
broadcast_optimizer_state(optimizer, root_rank, model=None)
broadcast_object(obj, root_rank=0, name=None, process_set)
allgather_object(obj, name=None)
DistributedOptimizer(optimizer, named_parameters=None, compression, backward_passes_per_step=1, op, gradient_predivide_factor=1.0, num_groups=0, groups=None, sparse_as_dense=False, process_set)
""".strip().splitlines()


@pytest.mark.parametrize("line", HOROVOD)
def test_arguments_are_horovods(line):
    name, _, rest = line.partition("(")
    expected = [argument for argument in rest.rstrip(")").split(", ") if argument]
    parameters = list(inspect.signature(getattr(hvd, name)).parameters.values())
    assert len(parameters) >= len(expected)
    for argument, parameter in zip(expected, parameters):
        wanted, _, default = argument.partition("=")
        assert parameter.name == wanted
        if default:
            assert str(parameter.default) == default
    for parameter in parameters[len(expected):]:
        assert parameter.default is not inspect.Parameter.empty


def test_constants_are_horovods():
    assert (hvd.Average, hvd.Sum, hvd.Adasum, hvd.Min, hvd.Max, hvd.Product) == (0, 1, 2, 3, 4, 5)
    assert issubclass(hvd.HorovodInternalError, RuntimeError)
    assert hvd.global_process_set.process_set_id == 0


def test_every_public_name_has_a_docstring():
    for module in (hvd, hvd.elastic, weir.numpy, weir):
        for kind, members in reference_page.groups(module).items():
            for name, value in members:
                if callable(value):
                    assert inspect.getdoc(value), name
                for method, function in reference_page.methods(value) if kind == "Classes" else []:
                    assert inspect.getdoc(function), f"{name}.{method}"


@pytest.mark.parametrize("name", reference_page.PAGES)
def test_a_reference_page_is_that_of_the_docstrings(name):
    if name == "jax.md":
        pytest.importorskip("jax")
    assert (REFERENCE / name).read_text(encoding="utf-8") == reference_page.PAGES[name](), \
        "write it anew: PYTHONPATH=build/release/python .venv/bin/python " + \
        f"tests/python/reference_page.py docs/reference/{name}"
