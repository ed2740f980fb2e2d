"""The rows of the fault matrix: each makes its fault at a random place and checks what must follow."""

import os
import re
import signal
import socket
import subprocess
import time
from typing import List

from case import COMPRESSIONS, Case, check_done, check_no_step, check_told, stat_of
from hosts import Hosts


def _others(ranks: int, lost: int) -> List[int]:
    return [process for process in range(ranks) if process != lost]


def killed(case: Case) -> None:
    """A rank dies in the middle of a job whose ranks are fixed."""
    ranks = case.random.choice([2, 3, 4])
    lost = case.random.randrange(ranks)
    compression = case.random.choice(COMPRESSIONS)
    deed, code, text = case.random.choice([("kill", 137, r"signal 9 \(Killed\)"), ("exit", 3, "exit code 3"),
                                           ("crash", 139, r"signal 11 \(Segmentation fault\)")])
    job = case.start(*case.transport(), "--grace-seconds", "5", ranks=ranks, steps=100_000,
                     compression=compression,
                     faults=f"{lost}:{deed}:{case.phase(compression)}:{case.random.randrange(30)}")
    found = job.wait()
    assert found == code, f"exit code {found}, not {code}"
    assert re.search(rf"weirrun: rank {lost} on \S+: {text}; ended the job", job.output), "the cause is not named"
    check_told(job, lost, _others(ranks, lost), rf"rank {lost} on \S+ is lost: {text}")


def stopped(case: Case) -> None:
    """A rank is stopped, for good."""
    ranks = case.random.choice([2, 3])
    lost = case.random.randrange(ranks)
    compression = case.random.choice(COMPRESSIONS)
    job = case.start(*case.transport(), "--heartbeat-timeout", "2", "--grace-seconds", "1", ranks=ranks,
                     steps=100_000, compression=compression,
                     faults=f"{lost}:stop:{case.phase(compression)}:{case.random.randrange(30)}")
    found = job.wait()
    assert found == 1, f"exit code {found}"
    text = "silent for 2 s: it is stopped by a signal"
    assert re.search(rf"weirrun: rank {lost} on \S+: {text}; ended the job", job.output), "the cause is not named"
    check_told(job, lost, _others(ranks, lost), text, within=5)


def paused(case: Case) -> None:
    """A rank is stopped, and goes on before anybody suspects it."""
    ranks = case.random.choice([2, 3])
    paused_one = case.random.randrange(ranks)
    job = case.start(*case.transport(), "--heartbeat-timeout", "20", ranks=ranks,
                     faults=f"{paused_one}:stop:{case.phase()}:{case.random.randrange(30)}")
    pid = int(job.await_line(paused_one, r"process (\d+) begins")[1])
    while job.process.poll() is None and stat_of(pid)[0] != "T":
        time.sleep(0.005)
    time.sleep(case.random.uniform(0.05, 1.5))
    os.kill(pid, signal.SIGCONT)
    found = job.wait()
    assert found == 0, f"exit code {found}"
    check_done(job, list(range(ranks)), 0.6)


def straggling(case: Case) -> None:
    """A rank is slow, and all wait for it; who waits says for whom."""
    ranks = case.random.choice([2, 3])
    slow = case.random.randrange(ranks)
    job = case.start(*case.transport(), "--stall-check-warning-time-seconds", "0.1", ranks=ranks,
                     faults=f"{slow}:straggle:begin:{case.random.randrange(5, 30)}")
    found = job.wait()
    assert found == 0, f"exit code {found}"
    assert re.search(rf"missing ranks?:? .*{slow}|rank {slow}", job.output), "nobody says who is waited for"
    check_done(job, list(range(ranks)), 0.6)


def disagreeing(case: Case) -> None:
    """Ranks disagree about an operation: it fails on all of them, and the next step works."""
    ranks = case.random.choice([2, 3, 4])
    job = case.start(*case.transport(), ranks=ranks, faults="disagree")
    found = job.wait()
    assert found == 0, f"exit code {found}"
    texts = {line.text for lines in job.lines().values() for line in lines if line.text.startswith("mismatch ")}
    assert len(texts) == 1 and "disagree" in next(iter(texts)), f"ranks were told {texts}"
    check_done(job, list(range(ranks)), 0.6)


def overflowing(case: Case) -> None:
    """The gradients of one rank are not finite: all skip the step together."""
    ranks = case.random.choice([2, 3, 4])
    one, step = case.random.randrange(ranks), case.random.randrange(5, 30)
    job = case.start(*case.transport(), ranks=ranks, compression="compressor=topk,k=0.1,ef=vanilla,min_elements=1,skip_nonfinite=true",
                     faults=f"{one}:overflow:submit:{step}")
    found = job.wait()
    assert found == 0, f"exit code {found}"
    for process, lines in job.lines().items():
        skipped = [line.text.split()[1] for line in lines if line.text.endswith(" skipped")]
        assert skipped == [str(step)], f"process {process} has skipped {skipped}, not step {step}"


def damaged(case: Case) -> None:
    """A frame is damaged or cut on its way: its receiver says so, does not take the step, and all are told."""
    ranks = case.random.choice([2, 3, 4])
    one, step = case.random.randrange(ranks), case.random.randrange(5, 30)
    framed = [name for name in COMPRESSIONS if "min_elements=1" in name]  # Dense sums travel without checksums.
    job = case.start("--transport", "mpi", "--grace-seconds", "1", ranks=ranks,
                     compression=case.random.choice(framed), faults=f"{one}:damage:submit:{step}")
    found = job.wait()
    assert found == 1, f"exit code {found}"
    newest = []
    for process, lines in job.lines().items():
        told = [line.text for line in lines if line.text.startswith("error ")]
        assert told and f"the frame of rank {one} " in told[0], f"process {process} was told {told}"
        newest.append(max(int(line.text.split()[1]) for line in lines if line.text.startswith("step ")))
    # Whose frames were whole may have done the step.
    assert min(newest) == step - 1 and max(newest) <= step, f"in step {step} a frame was damaged; taken: {newest}"


def weirrun_killed(case: Case) -> None:
    """The launcher itself is killed: the ranks learn it and end."""
    ranks = case.random.choice([2, 3])
    job = case.start(*case.transport(), "--grace-seconds", "0.5", ranks=ranks, steps=1000000)
    job.await_line(case.random.randrange(ranks), f"step {case.random.randrange(20)} ")
    job.process.kill()
    job.wait()


def supervisor_killed(case: Case) -> None:
    """A supervisor is killed: its rank dies with it and is named."""
    ranks = case.random.choice([2, 3])
    lost = case.random.randrange(ranks)
    job = case.start(*case.transport(), "--grace-seconds", "0.5", ranks=ranks, steps=1000000)
    pid = job.await_line(lost, r"process (\d+) begins")[1]
    job.await_line(lost, f"step {case.random.randrange(20)} ")
    os.kill(int(stat_of(pid)[1]), signal.SIGKILL)
    found = job.wait()
    assert found != 0, "the job has ended well"
    assert re.search(rf"weirrun: rank {lost} on ", job.output), "the rank is not named"


def lost_and_gone_on_without(case: Case) -> None:
    """Ranks of an elastic job die, one after the other or at once: the others go on."""
    ranks = case.random.choice([3, 4])
    lost = case.random.sample(range(ranks), case.random.randrange(1, ranks))
    compression = case.random.choice(COMPRESSIONS)
    faults = [f"{one}:{case.random.choice(['kill', 'crash', 'exit'])}:{case.phase(compression)}:"
              f"{case.random.randrange(35)}" for one in lost]
    job = case.start("--min-np", "1", ranks=ranks, steps=60, compression=compression, faults=",".join(faults))
    found = job.wait()
    assert found == 0, f"exit code {found}"
    check_done(job, [process for process in range(ranks) if process not in lost], 0.6)


def stopped_and_gone_on_without(case: Case) -> None:
    """A rank of an elastic job is stopped: it is ended, and the others go on."""
    ranks = case.random.choice([2, 3])
    lost = case.random.randrange(ranks)
    job = case.start("--min-np", "1", "--heartbeat-timeout", "2", ranks=ranks, steps=2000,
                     faults=f"{lost}:stop:{case.phase()}:{case.random.randrange(35)}")
    found = job.wait()
    assert found == 0, f"exit code {found}"
    assert re.search(rf"weirrun: rank {lost} on \S+: silent for 2 s", job.output), "it is not named"
    check_done(job, _others(ranks, lost), 0.6)


def few_descriptors(case: Case) -> None:
    """Too few files may be open: training works, or a message says so before it."""
    limit = case.random.randrange(8, 80)
    job = case.start(*case.transport(), ranks=2, within=["prlimit", f"--nofile={limit}"])
    if job.wait() == 0:
        return check_done(job, [0, 1], 0.6)
    check_no_step(job)
    assert re.search("open files|descriptors|ulimit", job.output), f"with {limit} files the cause is not named"


def small_shared_memory(case: Case) -> None:
    """/dev/shm is too small for MPI, or for anything: a message before training, or it works."""
    mebibytes = case.random.choice([1, 2, 4, 8, 16, 20, 24])
    job = case.start(*case.transport(), ranks=2,
                     within=["sh", "-c", f'mount -o remount,size={mebibytes}m /dev/shm && exec "$@"', "sh"])
    if job.wait() == 0:
        return check_done(job, [0, 1], 0.6)
    assert "Bus error" not in job.output, "a rank has crashed"
    assert f"/dev/shm has {mebibytes} MiB" in job.output, "the cause is not named"
    check_no_step(job)


def taken_port(case: Case) -> None:
    """The port of the metrics is another program's: a message names it before training."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ranks = case.random.choice([1, 2, 3])
        first = port - case.random.randrange(ranks)  # Of any rank: local rank r has port + r.
        job = case.start(*case.transport(), "--metrics-port", str(first), ranks=ranks)
        assert job.wait() != 0, "nobody has missed the port"
    assert str(port) in job.output, "the port is not named"
    check_no_step(job)


def full_disk(case: Case) -> None:
    """The disk under logs is or becomes full: a message says so, and training goes on."""
    folder = case.folder / "full"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={case.random.choice([4, 64, 256])}k", "tmpfs", folder],
                   check=True)
    kind = case.random.choice(["--record", "--timeline-filename"])
    job = case.start(*case.transport(), kind, str(folder / "file"), ranks=2, steps=case.random.choice([40, 400]))
    code = job.wait()
    sizes = [file.stat().st_size for file in folder.iterdir()]
    is_full = any(size > 0 and size % os.sysconf("SC_PAGESIZE") == 0 for size in sizes)  # A write was cut.
    subprocess.run(["umount", folder], check=True)
    if is_full:
        assert "No space left" in job.output, "nobody says that the disk is full"
    if code == 0:
        return check_done(job, [0, 1], 0.6)
    check_no_step(job)


def churning(case: Case) -> None:
    """Ranks die and others come, again and again."""
    ranks = case.random.choice([2, 3])
    steps = 1500
    deaths = [f"{process}:kill:{case.phase()}:{case.random.randrange(steps - 200)}"
              for process in range(10) if case.random.random() < 0.6]
    job = case.start("--min-np", "1", "--blacklist-cooldown-range", "0.05", "0.1", ranks=ranks, steps=steps,
                     commit_every=20, faults=",".join(deaths))
    found = job.wait(80)
    assert found == 0 or "no rank is left that has what the others would need" in job.output or (
        "and none has finished" in job.output or "signal 9" in job.output), f"exit code {found}"


def _hosts(case: Case, count: int) -> Hosts:
    os.environ["HYDRA_LAUNCHER_EXEC"] = str(case.folder / "ssh")
    return Hosts(count, case.folder)


def lossy(case: Case) -> None:
    """A link loses packets: everything takes longer, and nothing else."""
    hosts = _hosts(case, 2)
    hosts.choke(case.random.randrange(2))
    job = case.start(*hosts.options(), ranks=2)
    found = job.wait(60)
    assert found == 0, f"exit code {found}"
    check_done(job, [0, 1], 0.6)


def healed(case: Case) -> None:
    """A link is cut, and heals before anybody is suspected."""
    hosts = _hosts(case, 3)
    one = case.random.randrange(3)
    job = case.start(*hosts.options(), ranks=3, steps=600)
    job.await_line(case.random.randrange(3), f"step {case.random.randrange(100)} ")
    hosts.cut(one, case.random.choice(["in", "out", "both"]))
    time.sleep(case.random.uniform(0.05, 4))
    hosts.heal(one)
    found = job.wait(60)
    assert found == 0, f"exit code {found}"
    check_done(job, [0, 1, 2], 0.6)


def cut_off(case: Case) -> None:
    """A host is cut off, in one direction or both: it is named, and both sides end."""
    hosts = _hosts(case, 3)
    one = case.random.randrange(3)
    job = case.start(*hosts.options(), "--grace-seconds", "1", ranks=3, steps=1000000)
    job.await_line(case.random.randrange(3), f"step {case.random.randrange(100)} ")
    direction = case.random.choice(["in", "out", "both"])
    hosts.cut(one, direction)
    at = time.monotonic()
    found = job.wait(60)
    assert found != 0, "the job has ended well"
    assert re.search(rf"weirrun: rank {one} on \S+: its host has been silent", job.output), "it is not named"
    check_told(job, one, _others(3, one), rf"rank {one} on \S+ is lost", since=at, within=13)
    if direction != "out":  # It hears nothing any more.
        told = [line.text for line in job.lines()[one] if line.text.startswith("lost ")]
        assert told and "the launcher of this job is gone" in told[0], f"rank {one} was told {told}"


def cut_off_and_gone_on_without(case: Case) -> None:
    """A host of an elastic job is cut off: the others go on."""
    hosts = _hosts(case, 3)
    one = case.random.randrange(3)
    job = case.start(*hosts.options(), "--min-np", "1", ranks=3, steps=3000, commit_every=20)
    job.await_line(case.random.randrange(3), f"step {case.random.randrange(100)} ")
    hosts.cut(one, case.random.choice(["in", "out", "both"]))
    found = job.wait(60)
    assert found == 0, f"exit code {found}"
    check_done(job, _others(3, one), 0.6)


def parted(case: Case) -> None:
    """Two hosts do not reach each other any more, and weirrun reaches both: the limit on stalls ends it."""
    hosts = _hosts(case, 3)
    pair = case.random.sample(range(3), 2)
    job = case.start(*hosts.options(), "--stall-check-warning-time-seconds", "1",
                     "--stall-check-shutdown-time-seconds", "4", "--grace-seconds", "1", ranks=3, steps=1000000)
    job.await_line(case.random.randrange(3), f"step {case.random.randrange(100)} ")
    hosts.part(*pair)
    found = job.wait(60)
    assert found != 0, "the job has ended well"
    for process, lines in job.lines().items():
        told = [line.text for line in lines if line.text.startswith(("lost ", "error "))]
        assert told, f"process {process} was told nothing: {lines[-3:]}"


def parted_and_gone_on_without(case: Case) -> None:
    """Two hosts of an elastic job do not reach each other any more: one of them goes, the others go on."""
    count = case.random.choice([2, 3, 4, 5])
    hosts = _hosts(case, count)
    pair = case.random.sample(range(count), 2)
    job = case.start(*hosts.options(), "--min-np", "1", "--stall-check-warning-time-seconds", "1",
                     "--stall-check-shutdown-time-seconds", "4", ranks=count, steps=3000, commit_every=20)
    job.await_line(case.random.randrange(count), f"step {case.random.randrange(100)} ")
    hosts.part(*pair)
    found = job.wait(60)
    assert found == 0, f"exit code {found}"
    gone = re.findall(r"weirrun: rank (\d) on \S+: its host does not reach rank (\d) on", job.output)
    assert gone == [(str(max(pair)), str(min(pair)))], f"parted: {pair}, gone and unreached: {gone}"
    check_done(job, _others(count, max(pair)), 0.6)
