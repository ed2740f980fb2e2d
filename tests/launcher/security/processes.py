"""What a job's processes listen on, and how to do something as another user of the host."""

import json
import os
import pathlib
import socket
import struct
import traceback

NOBODY = 65534


def descendants(process):
    """The ids of a process and of all that it has started, and these."""
    children = {}
    for status in pathlib.Path("/proc").glob("[0-9]*/status"):
        try:
            facts = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
        except (FileNotFoundError, ProcessLookupError):
            continue
        children.setdefault(int(facts["PPid"]), []).append(int(facts["Pid"]))
    found = [process]
    for one in found:
        found += children.get(one, [])
    return found


def sockets_of(process):
    """The inodes of its sockets."""
    inodes = set()
    for descriptor in pathlib.Path(f"/proc/{process}/fd").iterdir():
        try:
            target = os.readlink(descriptor)
        except FileNotFoundError:
            continue
        if target.startswith("socket:["):
            inodes.add(int(target[8:-1]))
    return inodes


def listeners(process):
    """Where a process listens over TCP: (address, port), the address as text."""
    inodes = sockets_of(process)
    found = set()
    for table in "tcp", "tcp6":
        for line in pathlib.Path(f"/proc/{process}/net/{table}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] != "0A" or int(words[9]) not in inodes:
                continue
            address, port = words[1].split(":")
            if table == "tcp":
                address = socket.inet_ntoa(struct.pack("<I", int(address, 16)))
            found.add((address, int(port, 16)))
    return found


def named_unix_sockets(process):
    """The names of its Unix sockets that have one: paths, or "@name" of an abstract one."""
    inodes = sockets_of(process)
    names = set()
    for line in pathlib.Path(f"/proc/{process}/net/unix").read_text().splitlines()[1:]:
        words = line.split(maxsplit=7)
        if len(words) == 8 and int(words[6]) in inodes:
            names.add(words[7])
    return names


def as_nobody(do, *arguments):
    """What `do` returns, in a process of another user, as JSON makes it. Takes root."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.close(reading)
            os.setgroups([])
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)
            answer = json.dumps(do(*arguments)).encode()
            while answer:
                answer = answer[os.write(writing, answer):]
            code = 0
        except BaseException:  # pylint: disable=broad-except
            traceback.print_exc()
        os._exit(code)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read()
    _, status = os.waitpid(child, 0)
    if status != 0:
        raise AssertionError(f"the other user's process ended with {status}")
    return json.loads(answer)
