"""Programs of weir.jax as processes of their own: how they end, fail, and share devices."""

import os
import pathlib
import subprocess
import sys

import pytest

pytest.importorskip("jax")
pytest.importorskip("optax")
import weir.jax as wj  # noqa: E402

SHARDED = """
import jax, jax.numpy as jnp, optax
import weir.jax as wj
from jax.sharding import NamedSharding, PartitionSpec
wj.init()
mesh = jax.make_mesh((2,), ("data",))
tx = wj.distributed(optax.sgd(0.1), {"compressor": "dgc", "density": 0.1, "min_elements": 1})
x = jax.device_put(jnp.arange(8.0).reshape(4, 2), NamedSharding(mesh, PartitionSpec("data")))
p = {"w": jax.device_put(jnp.ones((2, 3)), NamedSharding(mesh, PartitionSpec()))}
state = tx.init(p)
@jax.jit
def step(p, state, x):
    updates, state = tx.update(jax.grad(lambda p: ((x @ p["w"]) ** 2).mean())(p), state, p)
    return optax.apply_updates(p, updates), state, wj.allreduce(x, op=wj.Sum)
for _ in range(3):
    p, state, found = step(p, state, x)
jax.block_until_ready(p)
assert (found == x).all()
print("steps", tx.report.step + 1, len(p["w"].sharding.device_set), "devices")
wj.shutdown()
"""


ENDS_AT_ONCE = """
import jax, jax.numpy as jnp
import weir.jax as wj
wj.init()
found = jax.jit(lambda x: wj.allreduce(jnp.sort(x)[:3], op=wj.Sum, name="last"))(jnp.arange(3000000.0)[::-1])
if wj.rank() == 0:
    print("found", found.tolist())
"""

FAILS_IN_MID_STEP = """
import jax, jax.numpy as jnp, numpy as np, optax
import weir.jax as wj
wj.init()
tx = wj.distributed(optax.sgd(0.1), "fp16")
p = {"a": jnp.ones((300, 300)), "b": jnp.ones((300, 300))}
def fail(x):
    raise RuntimeError("on purpose")
@jax.custom_vjp
def trouble(x):
    return x
trouble.defvjp(lambda x: (x, None), lambda _, g: (jax.pure_callback(fail, g, g),))
def loss(p, bad):
    x = trouble(p["a"]) if bad else p["a"]  # Its gradient comes last.
    return (jnp.tanh(x @ p["b"]) @ p["b"]).sum()
step = jax.jit(lambda p, state, bad: tx.update(jax.grad(loss)(p, bad), state, p), static_argnums=2)
state = tx.init(p)
_, state = step(p, state, False)
for _ in range(2):
    try:
        jax.block_until_ready(step(p, state, True))
    except Exception as error:
        print("failed:", "on purpose" in str(error), "not finished" in str(error), flush=True)
"""


def job(folder, program, ranks):
    path = folder / "program.py"
    path.write_text(program)
    weirrun = pathlib.Path(wj.__file__).parents[3] / "bin" / "weirrun"
    return subprocess.run([weirrun, "-np", str(ranks), sys.executable, path], capture_output=True, text=True, timeout=120)


def test_a_program_that_does_not_wait_for_its_last_result(folder):
    done = job(folder, ENDS_AT_ONCE, 2)
    assert done.returncode == 0 and "found [0.0, 2.0, 4.0]" in done.stdout, done


def test_a_program_that_fails_in_mid_step(folder):
    """The engine works in memory of its own, and says what has become of the step."""
    done = job(folder, FAILS_IN_MID_STEP, 1)
    assert "failed: True False" in done.stdout and "failed: False True" in done.stdout, done


def test_arrays_that_are_sharded_over_a_host(folder):
    """Several devices of one process: a step is taken once, and not by each of them."""
    done = subprocess.run([sys.executable, "-c", SHARDED], capture_output=True, text=True, timeout=120,
                          env={**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=2"})
    assert "steps 3 2 devices" in done.stdout, done.stderr
