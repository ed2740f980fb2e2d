"""Ends of programs, jobs and optimizers after a backward pass that no step has followed."""

import os
import subprocess
import sys
import textwrap

import pytest
import torch

import weir.torch as hvd

from compared import COMPRESSIONS, Rank, net, noise

PROGRAM = """
    import sys, threading
    import torch, weir.torch as hvd
    hvd.init()
    model = torch.nn.Linear(4, 4)
    optimizer = hvd.DistributedOptimizer(
        torch.optim.SGD(model.parameters(), lr=.1), compression=hvd.Compression.dgc(density=1.0))
    for step in range(4):
        optimizer.zero_grad()
        model(torch.ones(2, 4)).sum().backward()
        if step < 3:
            optimizer.step()
    what = sys.argv[1]
    if what == "lets go":
        del optimizer
        assert hvd.allreduce(torch.ones(1)) == 1
    elif hvd.rank() == 1:
        if what == "raises":
            raise RuntimeError("it is enough")
        sys.exit(3 if what == "exits" else 0)
    elif what != "ends":
        threading.Event().wait(600)  # Until the job ends.
    """


@pytest.mark.parametrize("what,code,text", [
    ("ends", 0, ""), ("lets go", 0, ""), ("exits", 3, "the program ended with exit code 3"),
    ("raises", 1, "the program ended with RuntimeError: it is enough")])
def test_a_program_ends(folder, what, code, text):
    script = folder / "program.py"
    script.write_text(textwrap.dedent(PROGRAM))
    done = subprocess.run([os.environ["WEIR_RUN_PROGRAM"], "-np", "2", sys.executable, str(script),
                           what], capture_output=True, text=True, timeout=300)
    assert done.returncode == code, done.stderr
    assert text in done.stderr


def trained(model, optimizer, steps):
    for step in steps:
        optimizer.zero_grad()
        model(noise(hvd.rank(), step, 8, 6)).square().mean().backward()
        if step % 2 == 0:
            optimizer.step()


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_the_job_is_left_and_entered_again_with_everything_still_there(size, compression):
    kept = []
    for _ in range(2):
        model = net(6, 8, 3)
        optimizer = Rank(COMPRESSIONS[compression]).wrapped(
            torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9), model)
        trained(model, optimizer, [0, 2, 4, 6, 7])  # The last one is on its way.
        handle = hvd.allreduce_async(torch.ones(3), op=hvd.Sum)
        while not hvd.poll(handle):
            pass
        kept.append((model, optimizer, handle))
        hvd.shutdown()
        hvd.init()
    for model, optimizer, handle in kept:
        assert hvd.synchronize(handle).tolist() == [size] * 3
        trained(model, optimizer, [8, 10])
        weights = torch.cat([parameter.detach().flatten() for parameter in model.parameters()])
        everyone = hvd.allgather(weights[None])
        assert all(torch.equal(everyone[0], one) for one in everyone)


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_an_optimizer_is_let_go_in_the_middle_of_a_step(compression):
    for _ in range(2):
        model = net(6, 8, 3)
        optimizer = Rank(COMPRESSIONS[compression]).wrapped(
            torch.optim.SGD(model.parameters(), lr=0.1), model)
        trained(model, optimizer, [0, 2, 4, 6, 7])
        del optimizer
    assert hvd.allreduce(torch.ones(1)) == 1
