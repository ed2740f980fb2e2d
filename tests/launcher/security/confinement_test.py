"""What a job of one host over MPI listens on, and whom that answers: in a network of its own, with another
host beside it. Arguments: weirrun, attacked_rank. Skipped without root, which making a network takes."""

import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import unittest

from jobs import Started
from processes import listeners

RANKS = 2
HERE, THERE = "10.9.8.7", "10.9.8.8"
OWN = "WEIR_TEST_NETWORK"

# What the other host does: says that it is there, and tries each place that it is told of.
OTHER_HOST = f"""
import json, socket, subprocess, sys
print("there", flush=True)
places = json.loads(sys.stdin.readline())
subprocess.run("ip addr add {THERE}/24 dev far && ip link set far up", shell=True, check=True)
reached = []
for port in places:
    with socket.socket() as one:
        one.settimeout(2 if reached else 60)
        try:
            one.connect(("{HERE}", port))
            reached.append(port)
        except OSError:  # Refused, or without an answer.
            pass
print(json.dumps(reached), flush=True)
"""


def run(command):
    subprocess.run(command, shell=True, check=True)


class Confinement(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        run(f"ip link set lo up && ip link add near type veth peer name far "
            f"&& ip addr add {HERE}/24 dev near && ip link set near up")

    def start(self, **environment):
        job = Started(self, [[WEIRRUN, "--transport", "mpi", "-np", str(RANKS)]], [environment], ATTACKED)
        return job, job.wait_for_ranks(RANKS)

    def end(self, job):
        output, codes = job.end()
        self.assertEqual(codes, [0], output)

    def reached_from_another_host(self, ports):
        with subprocess.Popen(["unshare", "--net", sys.executable, "-c", OTHER_HOST], text=True,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
            self.assertEqual(other.stdout.readline(), "there\n")
            run(f"ip link set far netns {other.pid}")
            return json.loads(other.communicate(json.dumps(ports) + "\n")[0])

    def test_ranks_listen_nowhere_and_no_other_host_reaches_the_job(self):
        job, ranks = self.start()
        places = {place for process in job.all() for place in listeners(process)}
        own = {place for rank in ranks.values() for place in listeners(rank)}
        everywhere = {place for place in places if place[0] == "0.0.0.0"}
        self.assertLessEqual(own, everywhere, "ranks have what Hydra leaves to them, and nothing else")
        self.assertLessEqual(len(everywhere), 1, places)
        self.assertEqual({address for address, _ in places - everywhere}, {"127.0.0.1"})
        for _, port in everywhere:
            with socket.create_connection((HERE, port)):
                pass  # From this host it answers.
        ports = sorted(port for _, port in places)
        with socket.create_server(("0.0.0.0", 0)) as seen:
            port = seen.getsockname()[1]
            self.assertEqual(self.reached_from_another_host([port, *ports]), [port])
        self.end(job)

    def test_a_users_own_choice_of_transports_wins(self):
        for environment in {"UCX_TLS": "tcp,self,sysv"}, {"UCX_NET_DEVICES": "lo"}:
            with self.subTest(environment):
                job, ranks = self.start(**environment)
                own = {place for rank in ranks.values() for place in listeners(rank)}
                self.assertIn("127.0.0.1", {address for address, _ in own} - {"0.0.0.0"}, own)
                variables = pathlib.Path(f"/proc/{ranks[0]}/environ").read_bytes().split(b"\0")
                self.assertNotIn(b"UCX_TLS=^tcp", variables)
                self.end(job)


if __name__ == "__main__":
    WEIRRUN, ATTACKED = sys.argv[1:3]
    if os.geteuid() != 0 or shutil.which("ip") is None:
        print("skipped: it takes root, and ip of iproute2, to make a network")
        sys.exit(77)
    if os.environ.get(OWN) != "own":
        sys.exit(subprocess.run(["unshare", "--net", sys.executable, *sys.argv], check=False,
                                env={**os.environ, OWN: "own"}).returncode)
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
