"""The arguments of weir.run: those of horovod.run, as options of weirrun."""

import inspect
import shlex

import pytest

import weir

# In Horovod's order; more may follow.
HOROVOD = """func args kwargs num_proc min_num_proc max_num_proc slots reset_limit cooldown_range
hosts hostfile start_timeout ssh_port ssh_identity_file disable_cache output_filename verbose
use_gloo use_mpi mpi_args network_interface executable np min_np max_np""".split()


def test_arguments_are_horovods():
    assert list(inspect.signature(weir.run).parameters)[:len(HOROVOD)] == HOROVOD


def work(*args):
    return args


def command_for(monkeypatch, **arguments):
    """The command that would start the job, without the program: that of the test ends at once."""
    monkeypatch.setenv("WEIR_RUN_PROGRAM", "false")
    with pytest.raises(RuntimeError, match="ended with exit code 1") as raised:
        weir.run(work, **arguments)
    words = shlex.split(str(raised.value).partition("The command was: ")[2])
    return words[1:words.index("-m") - 1]


@pytest.mark.parametrize("arguments, options", [
    ({}, "-np 1"),
    ({"np": 3}, "-np 3"),
    ({"num_proc": 3}, "-np 3"),
    ({"np": 2, "servers": 1}, "-np 2 --servers 1"),
    ({"hosts": "a:1,b:1", "np": 2}, "-np 2 --hosts a:1,b:1"),
    ({"hostfile": "hosts.txt"}, "-np 1 --hostfile hosts.txt"),
    ({"start_timeout": 60, "ssh_port": 22, "ssh_identity_file": "key"},
     "-np 1 --start-timeout 60 --ssh-port 22 --ssh-identity-file key"),
    ({"disable_cache": True, "verbose": 2, "use_gloo": True},
     "-np 1 --disable-cache --verbose --gloo"),
    ({"use_mpi": True, "use_gloo": False, "disable_cache": False, "verbose": 0}, "-np 1 --mpi"),
    ({"output_filename": "out", "mpi_args": "-x y"},
     "-np 1 --output-filename out --mpi-args '-x y'"),
    ({"network_interface": "eth0,eth1"}, "-np 1 --network-interfaces eth0,eth1"),
    ({"network_interfaces": "eth0"}, "-np 1 --network-interfaces eth0"),
    ({"np": 2, "min_np": 1, "max_num_proc": 4, "reset_limit": 0, "cooldown_range": (1, 2)},
     "-np 2 --min-np 1 --max-np 4 --reset-limit 0 --blacklist-cooldown-range 1 2"),
])
def test_arguments_become_options(monkeypatch, arguments, options):
    assert command_for(monkeypatch, **arguments) == shlex.split(options)


def test_slots_are_for_hosts_that_are_looked_for():
    with pytest.raises(ValueError, match="weir.run: slots= is for hosts that a script finds"):
        weir.run(work, np=2, slots=2)


@pytest.mark.parametrize("arguments, names", [
    ({"np": 2, "num_proc": 2}, "num_proc= and np="),
    ({"hosts": "a:1", "hostfile": "f"}, "hosts= and hostfile="),
    ({"use_gloo": True, "use_mpi": True}, "use_gloo= and use_mpi="),
    ({"network_interface": "a", "network_interfaces": "b"},
     "network_interface= and network_interfaces="),
])
def test_two_of_one_are_refused(arguments, names):
    with pytest.raises(ValueError, match=f"weir.run got {names}: give one of them"):
        weir.run(work, **arguments)


def test_a_number_of_ranks_is_a_whole_one():
    for wrong in (1.5, "2"):
        with pytest.raises(TypeError, match=f"np={wrong!r} is not a whole number"):
            weir.run(work, np=wrong)


def test_weirrun_takes_them(folder):  # noqa: F811
    found = weir.run(work, ("given",), num_proc=2, hosts="localhost:2", disable_cache=True,
                     use_gloo=True, network_interface="lo", start_timeout=60, verbose=1,
                     output_filename=str(folder / "out"))
    assert found == [("given",), ("given",)]
    assert (folder / "out").is_dir()
