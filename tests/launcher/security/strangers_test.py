"""Running jobs that another user of the host attacks, and looks at. Arguments: weirrun, attacked_rank.
Skipped without root, which being two users takes."""

import ctypes
import hashlib
import os
import pathlib
import re
import socket
import sys
import tempfile
import unittest

import stranger
from jobs import Started
from processes import as_nobody, listeners, named_unix_sockets

RANKS = 2
# How many connections may wait without having shown the token.
AT_WEIRRUN, AT_HUB = 1024, 64


def weirrun(test, transport):
    return Started(test, [[WEIRRUN, "--transport", transport, "-np", str(RANKS)]], [{}], ATTACKED)


def torchrun_variables(rank):
    return {"RANK": str(rank), "WORLD_SIZE": str(RANKS), "LOCAL_RANK": str(rank),
            "LOCAL_WORLD_SIZE": str(RANKS), "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(29500 + os.getpid() % 1000)}


def srun_variables(rank):
    return {"SLURM_PROCID": str(rank), "SLURM_STEP_NUM_TASKS": str(RANKS), "SLURM_LOCALID": str(rank),
            "SLURM_STEP_TASKS_PER_NODE": str(RANKS), "SLURM_STEP_NODELIST": "localhost",
            "SLURM_JOB_ID": str(os.getpid()), "SLURM_STEP_ID": "0"}


class Strangers(unittest.TestCase):
    def setUp(self):
        home = tempfile.TemporaryDirectory()
        self.addCleanup(home.cleanup)
        self.home = home.name

    def ranks(self, variables, which=range(RANKS), **environment):
        """Ranks of another launcher, each with its own process."""
        return Started(self, [[] for _ in which],
                       [{"HOME": self.home, **variables(rank), **environment} for rank in which],
                       ATTACKED)

    def expect_attacks_to_fail(self, job, port, most, recorded=()):
        """Attacks a job; the job ends well, and has counted the attacks."""
        heard = as_nobody(stranger.attack, port, most, recorded)
        for name, words in heard.items():
            words = bytes.fromhex(words)
            if name in stranger.CHALLENGED:
                self.assertEqual(len(words), len(stranger.frame(stranger.CHALLENGE, text=b"n" * 32)),
                                 f"{name}: nothing but a challenge comes back")
                self.assertEqual(words[4], stranger.CHALLENGE, name)
            elif name == "old":
                self.assertIn(b"different versions of Weir", words)
            else:
                self.assertEqual(words, b"", name)
        output, codes = job.end()
        self.assertEqual(set(codes), {0}, output)
        for rank in range(RANKS):
            self.assertRegex(output, rf"rank {rank} has [1-9]\d* right sums", output)
        lines = re.findall(r"turned away .*", output)
        self.assertRegex(lines[0], r"^turned away a connection from 127\.0\.0\.1:\d+: it ", output)
        counted = re.search(r"turned away (\d+) connections in all", output)
        self.assertGreaterEqual(int(counted[1]), stranger.CROWD + len(heard), output)
        # The first, the sum, and some a minute.
        self.assertLess(len(lines), 10, output)

    def test_a_job_of_weirrun_is_attacked(self):
        for transport in "mpi", "ucx":
            with self.subTest(transport):
                job = weirrun(self, transport)
                job.wait_for_ranks(RANKS)
                (address, port), = [place for place in listeners(job.processes[0].pid)]
                self.assertEqual(address, "127.0.0.1")
                self.expect_attacks_to_fail(job, port, AT_WEIRRUN)

    def test_a_job_of_torchrun_is_attacked(self):
        job = self.ranks(torchrun_variables)
        pids = job.wait_for_ranks(RANKS)
        (_, port), = listeners(pids[0])
        self.expect_attacks_to_fail(job, port, AT_HUB)

    def test_a_job_of_one_host_listens_on_loopback_alone(self):
        """Over MPI it is another matter: confinement_test.py."""
        for name, start in (("weirrun", lambda: weirrun(self, "ucx")),
                            ("torchrun", lambda: self.ranks(torchrun_variables)),
                            ("srun", lambda: self.ranks(srun_variables))):
            with self.subTest(name):
                job = start()
                job.wait_for_ranks(RANKS)
                places = {place for process in job.all() for place in listeners(process)}
                self.assertEqual([address for address, _ in places], ["127.0.0.1"], places)
                output, codes = job.end()
                self.assertEqual(set(codes), {0}, output)

    def test_another_user_finds_the_token_nowhere(self):
        token = os.urandom(16).hex()
        for name, start in (("mpi", lambda: weirrun(self, "mpi")), ("ucx", lambda: weirrun(self, "ucx")),
                            ("torchrun", lambda: self.ranks(torchrun_variables, WEIR_TOKEN=token))):
            with self.subTest(name):
                job = start()
                job.wait_for_ranks(RANKS)
                processes = job.all()
                tokens = {token} | {
                    match.decode() for process in processes
                    for match in re.findall(rb"WEIR_LAUNCHER_TOKEN=(\w+)",
                                            pathlib.Path(f"/proc/{process}/environ").read_bytes())}
                self.assertEqual(len(tokens), 2 if name == "mpi" else 1, "the job's token is known here")
                seen = as_nobody(look_at, processes)
                self.assertEqual(seen["environments"], [], "read by another user")
                self.assertEqual(len(seen["commands"]), len(processes))
                for command in seen["commands"]:
                    self.assertNotRegex(command, r"[0-9a-f]{32}")
                    for one in tokens:
                        self.assertNotIn(one, command)
                output, codes = job.end()
                self.assertEqual(set(codes), {0}, output)
                for one in tokens:
                    self.assertNotIn(one, output)

    def test_another_user_has_no_part_in_memory_and_sockets(self):
        for name, start in (("mpi", lambda: weirrun(self, "mpi")), ("ucx", lambda: weirrun(self, "ucx")),
                            ("torchrun", lambda: self.ranks(torchrun_variables))):
            with self.subTest(name):
                job = start()
                pids = job.wait_for_ranks(RANKS)
                files, segments = shared_memory(pids.values())
                self.assertTrue(files | segments, "the ranks share no memory; this test sees nothing")
                sockets = {name for process in job.all() for name in named_unix_sockets(process)}
                self.assertEqual(as_nobody(reach, sorted(files), sorted(segments), sorted(sockets)), [])
                # Only what UCX wakes sleepers with, of which Weir has none, takes what anybody sends.
                as_nobody(flood, sorted(sockets))
                output, codes = job.end()
                self.assertEqual(set(codes), {0}, output)

    def test_the_file_of_the_token_is_the_users_alone(self):
        os.chmod(self.home, 0o755)
        job = self.ranks(srun_variables)
        job.wait_for_ranks(RANKS)
        file = os.path.join(self.home, ".weir", "token")
        self.assertEqual(os.stat(file).st_mode & 0o777, 0o600)
        os.chmod(os.path.dirname(file), 0o755)
        self.assertEqual(as_nobody(readable, [file, os.path.join(self.home, "nothing")]), [])
        output, codes = job.end()
        self.assertEqual(set(codes), {0}, output)
        self.assertNotIn(pathlib.Path(file).read_text().strip(), output)

    def test_who_squats_rank_0s_port_learns_nothing_and_is_named(self):
        token = "correct horse battery staple"
        # Rank 1 alone tells where it looks for rank 0.
        output, codes = self.ranks(torchrun_variables, [1], WEIR_START_TIMEOUT="0.1",
                                   WEIR_TOKEN=token).end()
        self.assertNotEqual(codes, [0])
        place = re.search(r"rank 0 was not reached at 127\.0\.0\.1:(\d+)", output)
        port = int(place[1])
        for answer in (b"", stranger.frame(stranger.PROOF, text=b"p" * 32)):
            lonely = self.ranks(torchrun_variables, [1], WEIR_START_TIMEOUT="3", WEIR_TOKEN=token)
            heard = as_nobody(squat, port, answer.hex())
            output, codes = lonely.end()
            self.assertNotEqual(codes, [0])
            self.assertRegex(
                output, rf"rank 0 was not reached at 127\.0\.0\.1:{port} within .* s: who listens there "
                "does not know this job's token, and was told nothing: another user or another job has "
                r"the port \(WEIR_TOKEN, .* WEIR_RENDEZVOUS another port\)")
            self.expect_nothing_of(token, heard)
        # Ranks go on where the squatter does not; and what it has recorded is worth nothing.
        one = self.ranks(torchrun_variables, [1], WEIR_TOKEN=token)
        heard = as_nobody(squat, port, "")
        self.expect_nothing_of(token, heard)
        zero = self.ranks(torchrun_variables, [0], WEIR_TOKEN=token)
        zero.wait_for_ranks(1)
        zero.processes += one.processes
        pathlib.Path(one.stop).touch()
        self.expect_attacks_to_fail(zero, port, AT_HUB, recorded=heard[:2])

    def expect_nothing_of(self, token, heard):
        hello, proof, rest = map(bytes.fromhex, heard)
        self.assertEqual((hello[4], proof[4], rest), (stranger.HELLO, stranger.PROOF, b""))
        bare = token.encode()
        for kind in "md5", "sha1", "sha256", "sha512":
            digest = hashlib.new(kind, bare).digest()
            for secret in bare, bare.hex().encode(), digest, digest.hex().encode():
                self.assertNotIn(secret, hello + proof)


def squat(port, answer):
    with stranger.listen(port) as listener:
        return stranger.pass_for_rank_0(listener, bytes.fromhex(answer))


def look_at(processes):
    """What can be read of processes: environments, and command lines."""
    seen = {"environments": [], "commands": []}
    for process in processes:
        seen["commands"].append(
            pathlib.Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode())
        seen["environments"] += readable([f"/proc/{process}/environ", f"/proc/{process}/mem",
                                          f"/proc/{process}/maps"])
    return seen


def readable(files):
    """Those of the files that can be opened, for reading or writing."""
    opened = []
    for file in files:
        for flag in os.O_RDONLY, os.O_WRONLY:
            try:
                os.close(os.open(file, flag))
                opened.append(file)
            except OSError:
                pass
    return opened


def shared_memory(processes):
    """The files in /dev/shm, as they are called by processes that have them open, and the System V
    segments."""
    files, segments = set(), set()
    for process in processes:
        for line in pathlib.Path(f"/proc/{process}/maps").read_text().splitlines():
            words = line.split(maxsplit=5)
            if len(words) < 6:
                continue
            if words[5].startswith("/SYSV"):
                segments.add(int(words[4]))
            elif words[5].startswith("/dev/shm/"):
                files.add(f"/proc/{process}/map_files/{words[0]}")
                if not words[5].endswith(" (deleted)"):
                    files.add(words[5])
    return files, segments


def reach(files, segments, sockets):
    """What of it somebody can open, attach or connect to."""
    reached = readable(files)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.shmat.restype = ctypes.c_ssize_t
    read_only = 0o10000
    for segment in segments:
        for flags in 0, read_only:
            if libc.shmat(segment, None, flags) != -1:
                reached.append(f"segment {segment}")
    for name in sockets:
        for kind in socket.SOCK_STREAM, socket.SOCK_SEQPACKET:
            with socket.socket(socket.AF_UNIX, kind) as connection:
                try:
                    connection.connect(name.replace("@", "\0", 1))
                    reached.append(name)
                except OSError:
                    pass
    return reached


def flood(sockets):
    """Sends datagrams, until no more are taken. Returns how many were."""
    sent = 0
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.setblocking(False)
        for name in sockets:
            try:
                while sent < 10000:
                    sender.sendto(b"stranger", name.replace("@", "\0", 1))
                    sent += 1
            except OSError:
                pass
    return sent


if __name__ == "__main__":
    WEIRRUN, ATTACKED = sys.argv[1:3]
    if os.geteuid() != 0:
        print("skipped: it takes root to be another user")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
