"""Checkpoints of torch.distributed.checkpoint: of shards, on the same mesh and on another one."""

import copy
import warnings

import pytest
import torch

import weir.torch as hvd

from compared import flat, net, noise

if torch.__version__.startswith("1."):
    pytest.skip("fully_shard came with PyTorch 2.6", allow_module_level=True)
fsdp = pytest.importorskip("torch.distributed.fsdp")
dcp = pytest.importorskip("torch.distributed.checkpoint")
from torch.distributed.checkpoint.state_dict import (  # noqa: E402
    StateDictOptions, get_state_dict, set_state_dict)  # noqa: E402
from torch.distributed.device_mesh import init_device_mesh  # noqa: E402
from weir.torch.checkpoint import LoadPlanner  # noqa: E402

DGC = dict(compressor="dgc", density=0.05, min_elements=1, policy="always", values="fp32")


def meshes():
    """Replicas and shards: those of the checkpoint first."""
    size = hvd.size()
    return {1: [(1, 1)], 2: [(2, 1), (1, 2)], 4: [(2, 2), (4, 1), (1, 4)]}.get(size, [(size, 1)])


class Job:
    def __init__(self, shape, make, compression):
        self.mesh = init_device_mesh("cpu", shape, mesh_dim_names=("replicate", "shard"))
        self.model = net(6, 20, 20, 3)
        for layer in self.model:
            if any(True for _ in layer.parameters()):
                fsdp.fully_shard(layer, mesh=self.mesh["shard"])
        fsdp.fully_shard(self.model, mesh=self.mesh["shard"])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # What is taken over from the optimizer.
            self.optimizer = hvd.compress(self.model, make(self.model.parameters()), compression,
                                          replicate=self.mesh["replicate"])

    def train(self, steps):
        for step in steps:
            self.optimizer.zero_grad()
            self.model(noise(hvd.rank(), step, 8, 6)).square().mean().backward()
            self.optimizer.step()
        return self

    def state(self):
        model, optimizer = get_state_dict(self.model, self.optimizer)
        return {"model": model, "optimizer": optimizer}

    def save(self, folder):
        dcp.save(self.state(), checkpoint_id=folder)
        return self

    def load(self, folder, planner=None):
        state = self.state()
        dcp.load(state, checkpoint_id=folder, planner=planner)
        set_state_dict(self.model, self.optimizer, model_state_dict=state["model"],
                       optim_state_dict=state["optimizer"])
        return self

    def owed(self, key):
        """What the model is still owed: the mean of all replicas, of whole parameters."""
        states = self.state()["optimizer"]["state"]
        return torch.cat([entries[key].full_tensor().double().mean(0).flatten()
                          for _, entries in sorted(states.items()) if key in entries])

    def weights(self):
        return flat(self.model.parameters())


@pytest.fixture
def place(tmp_path):
    return hvd.broadcast_object(str(tmp_path / "checkpoint"))


def sgd(parameters, **options):
    return torch.optim.SGD(parameters, lr=0.05, momentum=0.9, **options)


CASES = {
    "dgc": (sgd, DGC),
    "nesterov and decay": (lambda p: sgd(p, nesterov=True, weight_decay=0.1), DGC),
    "warm-up": (sgd, {**DGC, "warmup_steps": 10}),
    "adamw": (lambda p: torch.optim.AdamW(p, lr=0.01), DGC),
    "adam inside": (lambda p: torch.optim.Adam(p, lr=0.01), {**DGC, "momentum": "adam"}),
    "small dense": (sgd, {**DGC, "min_elements": 100}),
    "in pieces": (sgd, {**DGC, "route": "push_pull", "partition_bytes": 256}),
    "topk": (sgd, dict(compressor="topk", k=0.1, ef="vanilla", policy="always", min_elements=1)),
    "signum": (sgd, dict(compressor="signum")),
    "no momentum": (lambda p: torch.optim.SGD(p, lr=0.05),
                    dict(compressor="topk", k=0.1, ef="vanilla", policy="always", min_elements=1)),
    "biases dense": (sgd, {**DGC, "compressor[*bias]": "dense"}),
    "two rates": (lambda p: sgd([{"params": one, "lr": 0.01 * (i + 1)} for i, one in enumerate(p)]), DGC),
    "none": (sgd, "none"),
}
every_case = pytest.mark.parametrize("case", CASES)
every_exact_case = pytest.mark.parametrize("case", [case for case in CASES if case != "in pieces"])


@every_exact_case  # What servers keep (push_pull) starts anew.
def test_the_same_mesh_bit_for_bit(case, place):
    shape = meshes()[0]
    straight = Job(shape, *CASES[case]).train(range(12))
    Job(shape, *CASES[case]).train(range(6)).save(place)
    resumed = Job(shape, *CASES[case]).load(place).train(range(6, 12))
    assert torch.equal(straight.weights(), resumed.weights())


@pytest.mark.parametrize("case", ["dgc", "adamw", "topk", "no momentum", "biases dense"])
def test_saving_leaves_training_as_it_was(case, place):
    shape = meshes()[0]
    straight = Job(shape, *CASES[case]).train(range(6))
    assert torch.equal(straight.weights(), Job(shape, *CASES[case]).train(range(3)).save(place)
                       .train(range(3, 6)).weights())


@every_case
def test_another_mesh_is_owed_the_same(case, place):
    first = Job(meshes()[0], *CASES[case]).train(range(6)).save(place)
    found = {key for entries in first.state()["optimizer"]["state"].values() for key in entries}
    keys = sorted(found & {"weir_unsent", "weir_momentum", "weir_first_moment"})
    assert keys or case == "none"
    for shape in meshes()[1:]:
        other = Job(shape, *CASES[case]).load(place, LoadPlanner())
        assert torch.equal(other.weights(), first.weights())
        for key in keys:
            torch.testing.assert_close(other.owed(key), first.owed(key), atol=1e-6, rtol=1e-6)
        before = other.weights()
        other.train(range(6, 9))
        assert not torch.equal(other.weights(), before)
        ours = other.weights()
        assert torch.equal(hvd.broadcast(ours, 0), ours)


def test_training_goes_on_as_dense_where_everything_is_sent(place):
    """At density 1 the mesh does not matter, momentum included."""
    case = sgd, {**DGC, "density": 1.0, "momentum_masking": False}
    straight = Job(meshes()[0], *case).train(range(12))
    Job(meshes()[0], *case).train(range(6)).save(place)
    for shape in meshes()[1:]:
        other = Job(shape, *case).load(place, LoadPlanner()).train(range(6, 12))
        torch.testing.assert_close(other.weights(), straight.weights(), atol=1e-5, rtol=1e-5)


def test_other_replicas_want_the_planner(place, size):
    if size == 1:
        return
    Job(meshes()[0], *CASES["dgc"]).train(range(3)).save(place)
    for shape in meshes()[1:]:
        with pytest.raises(dcp.CheckpointException, match="(?s)Size mismatch.*weir_"):
            Job(shape, *CASES["dgc"]).load(place)


def test_saving_adds_nothing_to_the_optimizer(place):
    job = Job(meshes()[0], *CASES["adamw"]).train(range(3))
    before = {parameter: sorted(entries) for parameter, entries in job.optimizer.state.items()}
    job.save(place)
    assert {parameter: sorted(entries) for parameter, entries in job.optimizer.state.items()} == before


@pytest.mark.parametrize("case", ["nesterov and decay", "adam inside", "in pieces", "small dense"])
def test_what_is_loaded_can_be_saved_at_once(case, place):
    first = Job(meshes()[0], *CASES[case]).train(range(6)).save(place)
    other = Job(meshes()[0], *CASES[case]).load(place)
    found, expected = (job.state()["optimizer"]["state"] for job in (other, first))
    for name, entries in expected.items():
        for key in entries:
            ours, theirs = (one[name][key] for one in (found, expected))
            if hasattr(ours, "to_local"):
                ours, theirs = ours.to_local(), theirs.to_local()
            assert torch.equal(torch.as_tensor(ours).nan_to_num(), torch.as_tensor(theirs).nan_to_num()), key


def test_a_group_without_shards():
    """Nobody but the optimizer exchanges it."""
    mesh = init_device_mesh("cpu", meshes()[0], mesh_dim_names=("replicate", "shard"))
    model = net(6, 20, 3)
    alone = model[-1].bias
    fsdp.fully_shard(model, mesh=mesh["shard"], ignored_params={alone})
    groups = [{"params": [one for one in model.parameters() if one is not alone]}, {"params": [alone], "lr": 0.01}]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # What is taken over from the optimizer.
        optimizer = hvd.compress(model, sgd(groups), DGC, replicate=mesh["replicate"])
    for step in range(6):
        optimizer.zero_grad()
        model(noise(hvd.rank(), step, 8, 6)).square().mean().backward()
        optimizer.step()
        if step == 3:
            optimizer.load_state_dict(optimizer.state_dict())
    assert optimizer.state_dict()["weir"]["step"] == 6


FULL = StateDictOptions(full_state_dict=True)


def test_full_state_is_the_mean_for_other_replicas():
    first = Job(meshes()[0], *CASES["dgc"]).train(range(6))
    model, optimizer = get_state_dict(first.model, first.optimizer, options=FULL)
    for shape in meshes():
        other = Job(shape, *CASES["dgc"])
        # PyTorch changes what it is given.
        set_state_dict(other.model, other.optimizer, model_state_dict=copy.deepcopy(model),
                       optim_state_dict=copy.deepcopy(optimizer), options=FULL)
        for key in ("weir_unsent", "weir_momentum"):
            torch.testing.assert_close(other.owed(key), first.owed(key), atol=1e-6, rtol=1e-6)
        other.train(range(6, 8))


def test_full_state_of_training_without_weir():
    model = net(6, 20, 20, 3)
    optimizer = sgd(model.parameters())
    for step in range(4):
        optimizer.zero_grad()
        sum(model(noise(rank, step, 8, 6)).square().mean() for rank in range(hvd.size())).div(hvd.size()).backward()
        optimizer.step()
    job = Job(meshes()[0], sgd, {**DGC, "density": 1.0, "momentum_masking": False})
    set_state_dict(job.model, job.optimizer, model_state_dict=model.state_dict(),
                   optim_state_dict=get_state_dict(model, optimizer)[1], options=FULL)
    job.train(range(4, 8))
    for step in range(4, 8):
        optimizer.zero_grad()
        sum(model(noise(rank, step, 8, 6)).square().mean() for rank in range(hvd.size())).div(hvd.size()).backward()
        optimizer.step()
    torch.testing.assert_close(job.weights(), flat(model.parameters()), atol=1e-5, rtol=1e-5)


def test_flat_state_says_what_it_leaves_out():
    options = StateDictOptions(flatten_optimizer_state_dict=True)
    job = Job(meshes()[0], *CASES["dgc"]).train(range(3))
    model, optimizer = get_state_dict(job.model, job.optimizer, options=options)
    with pytest.warns(UserWarning, match="nothing of what the compressor keeps.*flatten_optimizer_state_dict"):
        set_state_dict(job.model, job.optimizer, model_state_dict=model, optim_state_dict=optimizer, options=options)


def test_the_state_of_another_optimizer_is_refused(place):
    saved = Job(meshes()[0], *CASES["dgc"]).train(range(3)).optimizer.state_dict()
    other = Job(meshes()[0], *CASES["biases dense"]).optimizer
    with pytest.warns(UserWarning, match="the saved optimizer has compression dgc, this one has"):
        other.load_state_dict(saved)


def test_the_step_number_goes_on(place):
    case = CASES["warm-up"]
    Job(meshes()[0], *case).train(range(6)).save(place)
    for shape in meshes():
        other = Job(shape, *case).load(place, LoadPlanner()).train(range(6, 7))
        assert other.optimizer.state_dict()["weir"]["step"] == 7
