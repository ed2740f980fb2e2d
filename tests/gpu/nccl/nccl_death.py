"""A rank is killed while all are inside NCCL: the other one ends with its name, within 10 seconds.

    python3 nccl_death.py

Needs weirrun in the PATH, PyTorch, and a GPU, which both ranks share: each has a NCCL_HOSTID of its
own.
"""

import os
import signal
import subprocess
import sys
import threading
import time

ELEMENTS = 64 << 20  # 150 ms, if two ranks share a GPU.


def rank():
    import torch
    import weir.torch as hvd
    hvd.init()
    tensor = torch.ones(ELEMENTS, device="cuda")
    hvd.allreduce_(tensor, name="first")
    if hvd.rank() == 1:
        def die():
            print("killed at", time.time(), flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        threading.Timer(1.0, die).start()
    try:
        while True:
            hvd.allreduce_(tensor, name="again")
    except hvd.HorovodInternalError as error:
        print("ended at", time.time(), "with", error, flush=True)
        raise


def main():
    os.environ["WEIR_GPU_TRANSPORT"] = "nccl"
    with_host = 'NCCL_HOSTID=rank$PMI_RANK exec "$@"'
    job = subprocess.run(["weirrun", "-np", "2", "bash", "-c", with_host, "rank", sys.executable, __file__, "rank"],
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120, check=False)
    print(job.stdout)
    at = {word: float(line.split(f"{word} at ")[1].split()[0]) for line in job.stdout.splitlines()
          for word in ("killed", "ended") if f"{word} at " in line}
    assert job.returncode != 0, "the job ended as if nothing had happened"
    assert set(at) == {"killed", "ended"}, at
    assert "rank 1 on localhost is lost: signal 9 (Killed)" in job.stdout
    seconds = at["ended"] - at["killed"]
    print(f"nccl-death: the other rank ended {seconds:.2f} s later")
    assert seconds < 10


if __name__ == "__main__":
    rank() if sys.argv[1:] == ["rank"] else main()
