"""Somebody who does not know the token of a job and tries to have a part in it. Speaks the protocol of
common/supervision/proof.h, in code of its own."""

import hashlib
import hmac
import os
import resource
import select
import socket
import struct

HELLO, OUTPUT_HELLO, CHALLENGE, PROOF = 1, 2, 254, 255
VERSION = 10
# Ends of a hang only.
PATIENCE = 60
# So many more connections than may wait.
CROWD = 100


def frame(kind, rank=-1, code=0, host=b"", text=b""):
    body = struct.pack("<BiiB", kind, rank, code, len(host)) + host + text
    return struct.pack("<I", len(body)) + body


def hello(rank=1, kind=HELLO, nonce=b"n" * 32):
    return frame(kind, rank, VERSION, b"elsewhere", nonce)


def proof(token, service, end, said, challenge):
    text = b"weir proof " + end + b"\0" + service + b"\0" + said + challenge
    return frame(PROOF, text=hmac.new(token, text, hashlib.sha256).digest())


def connect(port):
    # Without a look-up, whose modules another user may not be able to read.
    connection = socket.socket()
    connection.settimeout(PATIENCE)
    connection.connect(("127.0.0.1", port))
    return connection


def read_exactly(connection, count):
    data = b""
    while len(data) < count:
        more = connection.recv(count - len(data))
        if not more:
            raise EOFError(data)
        data += more
    return data


def read_frame(connection):
    head = read_exactly(connection, 4)
    return head + read_exactly(connection, struct.unpack("<I", head)[0])


def until_closed(connection):
    """What it still hears before it is turned away."""
    heard = b""
    try:
        while more := connection.recv(65536):
            heard += more
    except ConnectionResetError:
        pass
    return heard


def attempt(port, *said):
    """Says one thing after the other, each after an answer to the one before, until it is turned away.
    What it has heard."""
    heard = b""
    with connect(port) as connection:
        for number, words in enumerate(said):
            if number:
                heard += read_frame(connection)
            connection.sendall(words)
        return heard + until_closed(connection)


def crowd(port, count, most):
    """Opens connections that say nothing, and one that begins a message and does not go on. Waits until
    all but `most` were turned away. Returns them all."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, count + 100)), hard))
    slow = connect(port)
    slow.sendall(hello()[:3])
    connections = {one.fileno(): one for one in [slow] + [connect(port) for _ in range(count - 1)]}
    poll = select.poll()
    for number in connections:
        poll.register(number, select.POLLIN)
    away = 0
    while away < count - most:
        events = poll.poll(PATIENCE * 1000)
        if not events:
            raise TimeoutError(f"{away} of {count} connections were turned away")
        for number, _ in events:
            poll.unregister(number)
            away += 1
    return connections


def attack(port, most, recorded=()):
    """Tries what comes to mind, at a door where at most `most` connections wait. `recorded` are a hello and
    a proof of somebody who knows the token. What it has heard at each try, as hexadecimal digits."""
    connections = crowd(port, most + CROWD, most)
    heard = {
        "garbage": attempt(port, os.urandom(4096).replace(b"\0", b"\1")),
        "http": attempt(port, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
        "huge": attempt(port, struct.pack("<I", 0xffffffff) + b"\1" * 100),
        "large": attempt(port, struct.pack("<I", 1 << 20) + b"\1" * (1 << 16)),
        "old": attempt(port, frame(HELLO, 1, VERSION - 1, b"elsewhere", b"guess")),
        "no hello": attempt(port, frame(PROOF, text=b"p" * 32)),
        "guess": attempt(port, hello(), frame(PROOF, text=b"p" * 32)),
        "output": attempt(port, hello(kind=OUTPUT_HELLO), frame(PROOF, text=b"p" * 32)),
        "no proof": attempt(port, hello(), frame(3, code=1, text=b"output of rank 1\n")),
        "empty": attempt(port, hello(), frame(PROOF)),
    }
    # The challenge of one try, given back in another: as a nonce, and as a proof.
    with connect(port) as connection:
        connection.sendall(hello())
        challenge = read_frame(connection)[14:]
    heard["nonce given back"] = attempt(port, hello(nonce=challenge), frame(PROOF, text=challenge))
    if recorded:
        heard["replay"] = attempt(port, *map(bytes.fromhex, recorded))
    for connection in connections.values():
        connection.close()
    return {name: words.hex() for name, words in heard.items()}


# Tries of attack() that are answered with a challenge, and with nothing else.
CHALLENGED = {"guess", "output", "no proof", "empty", "nonce given back", "replay"}


def listen(port):
    """A listener at a port that a rank will look for the job at."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen()
    listener.settimeout(PATIENCE)
    return listener


def pass_for_rank_0(listener, answer):
    """Answers one connection as the hub would, as far as it can: with a challenge, and then with
    `answer`, or with the proof that it has heard. What it has heard: a hello, and a proof."""
    connection, _ = listener.accept()
    with connection:
        connection.settimeout(PATIENCE)
        said = read_frame(connection)
        connection.sendall(frame(CHALLENGE, code=VERSION, text=b"c" * 32))
        shown = read_frame(connection)
        connection.sendall(answer or shown)
        # Nothing but the end follows.
        rest = until_closed(connection)
        return [said.hex(), shown.hex(), rest.hex()]
