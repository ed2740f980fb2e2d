"""Jobs on the hosts of scripts/netlab, and the traffic of their network."""

import math
import os
import pathlib
import re
import subprocess
import sys
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
_DEVICE = "GLOO_SOCKET_IFNAME"


def run(who, hosts, rate, *rest, slots=1, **more):
    """Runs scripts/netlab, and ends the benchmark `who` with its exit code: 77 if it can make no
    network."""
    shaped = [] if rate == "none" else ["--rate", rate]
    command = [ROOT / "scripts/netlab", "--hosts", str(hosts), "--slots", str(slots), *shaped,
               *map(str, rest)]
    # PyTorch only logs errors: it complains that the addresses of these hosts have no names.
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TORCH_CPP_LOG_LEVEL": "ERROR"}
    done = subprocess.run(command, env=environment, text=True, stdin=subprocess.DEVNULL, **more)
    if done.returncode != 0:
        print(f"{who}: scripts/netlab ended with {done.returncode} at rate {rate}",
              file=sys.stderr)
        sys.exit(done.returncode)
    return done.stdout


class Sent(NamedTuple):
    """Traffic of a host, with the headers of Ethernet, IP and TCP."""

    bytes: int
    packets: int
    resent: int  # Segments that TCP sent again, because they were dropped on the way.

    def __sub__(self, before):
        return Sent(*(now - then for now, then in zip(self, before)))


def bits_per_second(rate):
    if rate == "none":
        return math.inf
    number, unit = re.fullmatch(r"([\d.]+)([kmg])bit", rate).groups()
    return float(number) * {"k": 1e3, "m": 1e6, "g": 1e9}[unit]


def on_host():
    """True if this process is on a host of scripts/netlab."""
    return _DEVICE in os.environ


def set_rate(rate):
    """Shapes what this host sends from now on, as scripts/netlab does; none: as fast as it goes."""
    if rate == "none":
        # Fails where nothing is shaped.
        subprocess.run(["tc", "qdisc", "del", "dev", os.environ[_DEVICE], "root"], check=False,
                       stderr=subprocess.DEVNULL)
        return
    burst = max(65536, int(bits_per_second(rate) / 8 / 500))
    subprocess.run(["tc", "qdisc", "replace", "dev", os.environ[_DEVICE], "root", "tbf", "rate", rate, "burst",
                    str(burst), "latency", "100ms"], check=True)


def _resent():
    lines = pathlib.Path("/proc/net/snmp").read_text().splitlines()
    names, values = (line.split() for line in lines if line.startswith("Tcp:"))
    return int(values[names.index("RetransSegs")])


def sent():
    """Returns the traffic of this host so far."""
    device = os.environ.get(_DEVICE)
    for line in pathlib.Path("/proc/net/dev").read_text().splitlines():
        name, _, numbers = line.partition(":")
        if name.strip() == device:
            return Sent(*map(int, numbers.split()[8:10]), _resent())
    raise RuntimeError("this process is not on a host of scripts/netlab: start the benchmark with "
                       "scripts/bench")
