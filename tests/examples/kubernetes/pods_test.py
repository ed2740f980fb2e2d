"""The commands of the manifests in examples/kubernetes/, as pods run them: each as the first process of its own
namespaces, without capabilities, with the names, addresses and variables that Kubernetes or the operator gives.
Skipped, with the reason, without root or namespaces."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import unittest

import manifests

# Waits in its new namespaces until it has the other end of a cable.
POD = """
hostname "$1" && ip link set lo up && echo ready && read -r plugged &&
ip address add "$2/24" dev eth0 && ip link set eth0 up &&
mount --bind "$3" /etc/hosts && mount -t tmpfs -o size=64m tmpfs /dev/shm &&
shift 3 && exec setpriv --no-new-privs --inh-caps=-all --bounding-set=-all "$@"
"""


def expand(word, variables):
    """As Kubernetes does in a command."""
    return re.sub(r"\$\((\w+)\)", lambda name: variables[name[1]], word)


class Pod:
    """A pod of one container, whose files are those of a folder, in which there is also its /etc/hosts."""

    def __init__(self, name, address, folder, container, variables):
        self.name = name
        environment = {**variables, **{variable["name"]: variable.get("value", "of a secret")
                                       for variable in container["env"]}}
        command = [expand(word, environment) for word in container["command"]]
        # An end of a hang only.
        self.process = subprocess.Popen(
            ["timeout", "--signal=KILL", "240", "unshare", "--pid", "--fork", "--kill-child", "--mount-proc",
             "--net", "--ipc", "--uts", "sh", "-c", POD, "sh", name, address, f"{folder}/hosts", *command],
            text=True, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env={**os.environ, **environment, "HOME": folder,
                 "PATH": os.path.dirname(sys.executable) + ":" + os.environ["PATH"] + ":/usr/sbin:/sbin"})
        self.output = ""
        self.trains = threading.Event()  # Or has ended.
        if self.process.stdout.readline() != "ready\n":
            raise RuntimeError(f"no namespaces: {self.process.communicate()[0]}")

    def pid(self):
        """The number that the pod's first process has outside."""
        pid = self.process.pid
        for _ in range(2):  # Beneath timeout and unshare.
            pid = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0]
        return pid

    def start(self):
        self.process.stdin.write("plugged\n")
        self.process.stdin.close()
        self.reader = threading.Thread(target=self._read)
        self.reader.start()

    def kill(self):
        """Ends all of its processes at once; nothing if they have ended."""
        if self.process.poll() is None:
            subprocess.run(["kill", "-KILL", self.pid()], check=True)

    def wait(self):
        self.reader.join()
        return self.process.wait()

    def _read(self):
        with self.process.stdout:
            for line in self.process.stdout:
                self.output += line
                if "Weir takes over from SGD" in line:  # Rank 0 says so, once all have met.
                    self.trains.set()
        self.trains.set()


def plugged(pods):
    subprocess.run(["ip", "link", "add", "eth0", "netns", pods[0].pid(), "type", "veth", "peer", "name", "eth0",
                    "netns", pods[1].pid()], check=True)
    for pod in pods:
        pod.start()
    return pods


class Pods(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "examples").symlink_to(manifests.ROOT / "examples")

    def start(self, names, domain, containers, variables):
        """Two pods at the names that a cluster's name server knows."""
        lines = [f"10.9.8.{i + 1} {name}{domain} {name}\n" for i, name in enumerate(names)]
        (self.folder / "hosts").write_text("127.0.0.1 localhost\n" + "".join(lines))
        pods = [Pod(name, f"10.9.8.{i + 1}", str(self.folder), containers[i], variables(i))
                for i, name in enumerate(names)]
        for pod in pods:
            self.addCleanup(pod.kill)
        return plugged(pods)

    def start_job(self):
        job = manifests.load("job.yaml")["Job"]
        pod = job["spec"]["template"]["spec"]
        names = [f"{job['metadata']['name']}-{i}" for i in range(job["spec"]["completions"])]
        return self.start(names, "." + pod["subdomain"], 2 * pod["containers"],
                          lambda i: {"JOB_COMPLETION_INDEX": str(i)})

    def start_pytorchjob(self):
        job = manifests.load("pytorchjob.yaml")["PyTorchJob"]
        name, spec = job["metadata"]["name"], job["spec"]
        containers = [spec["pytorchReplicaSpecs"][kind]["template"]["spec"]["containers"][0]
                      for kind in ("Master", "Worker")]
        pods, processes = 2, int(spec["nprocPerNode"])
        return self.start([f"{name}-master-0", f"{name}-worker-0"], "", containers, lambda i: {
            "MASTER_ADDR": f"{name}-master-0", "MASTER_PORT": str(containers[0]["ports"][0]["containerPort"]),
            "WORLD_SIZE": str(pods * processes), "RANK": str(i), "PET_NNODES": str(pods),
            "PET_NPROC_PER_NODE": str(processes), "PET_NODE_RANK": str(i)})

    def expect_success(self, pods):
        codes = [pod.wait() for pod in pods]
        output = "\n".join(f"== {pod.name}\n{pod.output}" for pod in pods)
        self.assertEqual(codes, [0, 0], output)
        self.assertRegex(pods[0].output, r"dgc: accuracy 0\.9\d* after 12 epochs on 4 ranks", output)

    def test_a_pytorchjob(self):
        self.expect_success(self.start_pytorchjob())

    def test_a_job_whose_pods_come_again_after_one_was_killed(self):
        pods = self.start_job()
        pods[0].trains.wait()
        self.assertIsNone(pods[1].process.poll(), pods[0].output)
        pods[1].kill()
        self.assertNotEqual(pods[1].wait(), 0)
        self.assertNotEqual(pods[0].wait(), 0)
        self.assertRegex(pods[0].output, r"PeerLost: .*rank [23] on weir-digits-1\b")
        self.expect_success(self.start_job())


def obstacle():
    """What this machine lacks for it; "" for nothing."""
    if os.geteuid() != 0:
        return "it takes root to make namespaces"
    done = subprocess.run(["unshare", "--net", "ip", "link", "add", "eth0", "type", "veth"], check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.stdout if done.returncode else ""


if __name__ == "__main__":
    if reason := obstacle():
        print(f"skipped: {reason}")
        sys.exit(77)
    unittest.main()
