"""Hosts on this machine: network namespaces that a bridge joins, whose links can be cut."""

import pathlib
import subprocess
from typing import List

NET = "10.77.14"
DEVICE = "weir0"


def _run(*words: str) -> None:
    subprocess.run(words, check=True)


class Hosts:
    """Hosts 10.77.14.1 to .N; weirrun runs beside them, as .254. To be made in namespaces of its own."""

    def __init__(self, count: int, folder: pathlib.Path) -> None:
        self.names = [f"{NET}.{number}" for number in range(1, count + 1)]
        _run("mount", "-t", "tmpfs", "tmpfs", "/run")
        _run("mount", "-t", "sysfs", "sysfs", "/sys")
        pathlib.Path("/run/netns").mkdir()
        _run("ip", "link", "add", DEVICE, "type", "bridge")
        _run("ip", "addr", "add", f"{NET}.254/24", "dev", DEVICE)
        _run("ip", "link", "set", DEVICE, "up")
        for number in range(1, count + 1):
            host, up = f"host{number}", f"up{number}"
            _run("ip", "netns", "add", host)
            _run("ip", "link", "add", up, "type", "veth", "peer", "name", DEVICE, "netns", host)
            _run("ip", "link", "set", up, "master", DEVICE, "up")
            _run("ip", "-n", host, "link", "set", "lo", "up")
            _run("ip", "-n", host, "addr", "add", f"{NET}.{number}/24", "dev", DEVICE)
            _run("ip", "-n", host, "link", "set", DEVICE, "up")
        # Stands in for ssh: the host has a name and shared memory of its own. Over a link that is cut, ssh
        # does not learn that its command has ended.
        self._folder = folder
        self.shell = folder / "ssh"
        self.shell.write_text(f"""#!/bin/sh
while [ "${{1#-}}" != "$1" ]; do
  [ "$1" = -o ] && shift
  shift
done
number=${{1##*.}}
shift
ip netns exec "host$number" unshare --uts --ipc --mount sh -c '
  hostname "$1" && mount -t tmpfs tmpfs /dev/shm && exec sh -c "$2"' sh "host$number" "$*"
code=$?
[ -e "{folder}/cut$number" ] && exec sleep 600
exit $code
""")
        self.shell.chmod(0o755)

    def options(self) -> List[str]:
        return ["--transport", "ucx", "--tcp", "--network-interface", DEVICE, "-H",
                ",".join(f"{name}:1" for name in self.names)]

    def cut(self, host: int, direction: str) -> None:
        """Drops silently what comes from a host, by its number from 0 ("out"), goes to it ("in"), or both."""
        (self._folder / f"cut{host + 1}").touch()
        for other in self._others(host):
            if direction in ("out", "both"):
                self._mislead(host, other)
            if direction in ("in", "both"):
                self._mislead(other, host)

    def part(self, one: int, other: int) -> None:
        """Drops what two hosts send to each other; both still reach all others."""
        self._mislead(one, other)
        self._mislead(other, one)

    def heal(self, host: int) -> None:
        (self._folder / f"cut{host + 1}").unlink()
        for other in self._others(host):
            for source, target in ((host, other), (other, host)):
                self._ip(source, "neigh", "flush", "to", self._address(target), "nud", "permanent")

    def choke(self, host: int) -> None:
        """Gives a link a queue so short that every burst loses packets."""
        queue = ["root", "tbf", "rate", "50mbit", "burst", "4k", "limit", "6k"]
        _run("tc", "qdisc", "add", "dev", f"up{host + 1}", *queue)
        _run("tc", "-n", f"host{host + 1}", "qdisc", "add", "dev", DEVICE, *queue)

    def _others(self, host: int) -> List[int]:
        return [other for other in range(-1, len(self.names)) if other != host]

    @staticmethod
    def _address(host: int) -> str:
        return f"{NET}.{host + 1}" if host >= 0 else f"{NET}.254"

    @staticmethod
    def _ip(host: int, *words: str) -> None:
        """Runs ip on a host; -1: where weirrun runs."""
        _run("ip", *(["-n", f"host{host + 1}"] if host >= 0 else []), *words)

    def _mislead(self, source: int, target: int) -> None:
        """Makes a host send packets to an interface that is not there, which takes no filter in the kernel."""
        self._ip(source, "neigh", "replace", self._address(target), "lladdr", "02:00:00:00:00:99", "dev", DEVICE,
                 "nud", "permanent")
