"""A Slurm of two nodes, n1 and n2, on this machine: its own daemons, ports and munge in a folder."""

import os
import pathlib
import shutil
import socket
import subprocess
import time

PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "sbatch", "salloc", "sinfo", "unshare")


def missing():
    """What this machine lacks for it; "" for nothing."""
    if os.geteuid() != 0:
        return "it takes root: Slurm's daemons start programs in the name of users"
    path = os.environ["PATH"] + ":/usr/sbin:/sbin"
    lacks = [program for program in PROGRAMS if shutil.which(program, path=path) is None]
    return f"{', '.join(lacks)} missing: apt-get install slurm-wlm munge" if lacks else ""


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class Cluster:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.config = self.folder / "slurm.conf"
        self.daemons = []
        self.environment = {**os.environ, "SLURM_CONF": str(self.config),
                            "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"}
        for name in ("SLURM_JOB_ID", "SLURM_PROCID"):
            self.environment.pop(name, None)

    def __enter__(self):
        munge = self.folder / "munge"
        munge.mkdir(mode=0o711)
        (munge / "key").write_bytes(os.urandom(128))
        (munge / "key").chmod(0o600)
        control, one, two = free_ports(3)
        self.config.write_text(f"""
ClusterName=weir
SlurmctldHost=localhost
SlurmUser=root
SlurmctldPort={control}
AuthType=auth/munge
AuthInfo=socket={munge}/socket
CryptoType=crypto/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=2
StateSaveLocation={self.folder}/state
SlurmdSpoolDir={self.folder}/spool-%n
SlurmctldPidFile={self.folder}/slurmctld.pid
SlurmdPidFile={self.folder}/slurmd-%n.pid
SlurmctldLogFile={self.folder}/slurmctld.log
SlurmdLogFile={self.folder}/slurmd-%n.log
NodeName=n1 NodeHostname=localhost NodeAddr=127.0.0.1 Port={one} CPUs=4
NodeName=n2 NodeHostname=localhost NodeAddr=127.0.0.1 Port={two} CPUs=4
PartitionName=all Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP
""")
        (self.folder / "state").mkdir()
        self._start("munged", "--foreground", "--force", f"--socket={munge}/socket",
                    f"--key-file={munge}/key", f"--log-file={munge}/log", f"--pid-file={munge}/pid",
                    f"--seed-file={munge}/seed")
        self._until("munge", lambda: (munge / "socket").exists())
        self._start("slurmctld", "-D", "-f", str(self.config))
        for node in ("n1", "n2"):
            (self.folder / f"spool-{node}").mkdir()
            self._start("slurmd", "-D", "-N", node, "-f", str(self.config))
        self._until("the nodes", lambda: self.run(
            "sinfo", "--noheader", "-N", "-o", "%t").stdout.split() == ["idle", "idle"])
        return self

    def __exit__(self, *_):
        for daemon in reversed(self.daemons):
            daemon.terminate()
        for daemon in self.daemons:
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()

    def run(self, *command, input="", **environment):
        # An end of a hang only.
        return subprocess.run(["timeout", "-k", "5", "240", *command], text=True, check=False, input=input,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env={**self.environment, **environment})

    def logs(self):
        return "\n".join(f"== {log.name}\n{log.read_text()[-2000:]}"
                         for log in sorted(self.folder.glob("*.log")))

    def _start(self, *command):
        with open(self.folder / f"{command[0]}-{len(self.daemons)}.log", "w") as log:
            self.daemons.append(subprocess.Popen(command, stdout=log, stderr=log, env=self.environment))

    def _until(self, what, condition):
        deadline = time.monotonic() + 60
        while not condition():
            if time.monotonic() > deadline or any(d.poll() is not None for d in self.daemons):
                raise RuntimeError(f"{what} did not come up\n{self.logs()}")
            time.sleep(0.1)
