"""Speed of a network: netlab_rate.py receive ADDRESS on one host, send ADDRESS on another."""

import socket
import sys
import time

PORT = 5201
SECONDS = 3.0
CHUNK = 1 << 20


def receive(address):
    """Receives data, and answers every single byte that comes after a pause with one."""
    with socket.create_server((address, PORT)) as server:
        connection, _ = server.accept()
        with connection:
            for _ in range(10):
                connection.sendall(connection.recv(1))
            begin = time.monotonic()
            received = 0
            while data := connection.recv(CHUNK):
                received += len(data)
            seconds = time.monotonic() - begin
    print(f"{8e-6 * received / seconds:.1f} Mb/s", flush=True)


def send(address):
    for _ in range(200):  # Until the other one listens.
        try:
            connection = socket.create_connection((address, PORT))
            break
        except ConnectionRefusedError:
            time.sleep(0.01)
    with connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        trips = []
        for _ in range(10):
            begin = time.monotonic()
            connection.sendall(b"x")
            connection.recv(1)
            trips.append(time.monotonic() - begin)
        print(f"round trip {1e3 * sorted(trips)[5]:.2f} ms", flush=True)
        end = time.monotonic() + SECONDS
        data = bytes(CHUNK)
        while time.monotonic() < end:
            connection.sendall(data)


if __name__ == "__main__":
    {"receive": receive, "send": send}[sys.argv[1]](sys.argv[2])
