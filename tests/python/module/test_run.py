"""weir.run, from a process that is not a rank: each test starts a job of its own."""

import subprocess
import sys
import textwrap
import threading

import pytest

import weir
from scripted import ran


@pytest.mark.parametrize("np", [1, 3])
def test_results_come_in_rank_order(folder, np):
    code, out, error = ran(folder, f"""
        import os, torch, weir, weir.torch as hvd

        def work(base, factor=1):
            hvd.init()
            total = hvd.allreduce(torch.tensor([hvd.rank()]), op=hvd.Sum).item()
            return (base + factor * hvd.rank(), hvd.size(), total, os.environ["GIVEN"],
                    torch.ones(1000, 1000))

        if __name__ == "__main__":
            results = weir.run(work, args=(10,), kwargs={{"factor": 2}}, np={np},
                               env={{"GIVEN": "yes"}})
            print("MAIN", [result[:4] for result in results])
            assert all(result[4].sum() == 1e6 for result in results)
        """)
    expected = [(10 + 2 * rank, np, np * (np - 1) // 2, "yes") for rank in range(np)]
    assert code == 0, error
    assert [line for line in out.splitlines() if "MAIN" in line] == [f"MAIN {expected}"]


def test_what_a_rank_raises_is_shown_with_its_traceback(folder):
    code, out, error = ran(folder, """
        import weir, weir.torch as hvd

        def work():
            hvd.init()
            if hvd.rank() == 1:
                raise KeyError("not there")
            hvd.barrier()

        if __name__ == "__main__":
            try:
                weir.run(work, np=2)
            except RuntimeError as caught:
                print("CAUGHT", caught)
        """)
    assert code == 0, error
    assert "CAUGHT weir.run: rank 1 failed:" in out
    assert "raise KeyError(\"not there\")" in out and "KeyError: 'not there'" in out


def test_a_function_that_ends_its_process_is_shown_as_one(folder):
    code, out, error = ran(folder, """
        import sys, weir

        def work():
            sys.exit(0)

        if __name__ == "__main__":
            try:
                weir.run(work, np=2)
            except RuntimeError as caught:
                print("CAUGHT", caught)
        """)
    assert code == 0, error
    assert "CAUGHT weir.run: rank" in out and "SystemExit: 0" in out


def test_a_rank_that_dies_is_named_by_its_exit_code(folder):
    code, out, error = ran(folder, """
        import os, weir

        def work():
            os._exit(9)

        if __name__ == "__main__":
            try:
                weir.run(work, np=1)
            except RuntimeError as caught:
                print("CAUGHT", caught)
        """)
    assert code == 0, error
    assert "CAUGHT weir.run: weirrun ended with exit code 9, and said why on stderr" in out


def test_a_gradient_that_one_rank_never_computes_ends_the_job_in_time(folder):
    code, out, error = ran(folder, """
        import sys, torch, weir, weir.torch as hvd

        def work():
            hvd.init()
            used, unused = torch.nn.Parameter(torch.ones(2)), torch.nn.Parameter(torch.ones(2))
            optimizer = hvd.DistributedOptimizer(
                torch.optim.SGD([used, unused], lr=0.1),
                named_parameters=[("used", used), ("unused", unused)])
            if hvd.rank() == 0:
                (used + unused).sum().backward()
                optimizer.step()
            else:
                hvd.synchronize(hvd.allreduce_async(torch.ones(1), name="elsewhere"))

        if __name__ == "__main__":
            try:
                weir.run(work, np=2)
            except RuntimeError as caught:
                print("CAUGHT", caught)
        """, WEIR_STALL_CHECK_TIME_SECONDS="0.5", WEIR_STALL_SHUTDOWN_TIME_SECONDS="1.5")
    assert code == 0, error
    assert "CAUGHT weir.run: rank" in out
    assert "TimedOut" in out and "was submitted by ranks [" in out and "but not by ranks [" in out


def test_who_waits_reads_that_another_rank_has_left(folder):
    code, out, error = ran(folder, """
        import torch, weir, weir.torch as hvd

        def work():
            hvd.init()
            if hvd.rank() == 1:
                return "left"
            try:
                hvd.allreduce(torch.ones(1))
            except hvd.HorovodInternalError as error:
                return str(error)

        if __name__ == "__main__":
            print("MAIN", weir.run(work, np=2)[0])
        """)
    assert code == 0, error
    assert "MAIN Horovod has been shut down." in out and "rank 1" in out


def test_functions_of_a_module_are_found_by_their_names(folder):
    (folder / "beside.py").write_text("def work(x):\n    return x + 1\n")
    code, out, error = ran(folder, """
        import beside, weir
        print("MAIN", weir.run(beside.work, (4,)))
        """)
    assert code == 0, error
    assert "MAIN [5]" in out


@pytest.mark.parametrize("how", ["file", "command line", "standard input"])
def test_the_main_script_travels_with_the_function(folder, how):
    """It does not run again in the ranks: here it has no `if __name__ == ...`, and no file."""
    text = textwrap.dedent("""
        import weir, weir.torch as hvd

        class Thing:
            def __init__(self, rank): self.rank = rank

        factor = 1

        def helper(rank):
            return Thing(factor * rank)

        def work(given):
            hvd.init()
            assert type(given) is Thing and type(hvd.broadcast_object(given)) is Thing
            return helper(hvd.rank())

        factor = 7  # As it is when run() is called.
        found = weir.run(work, args=(Thing(None),), np=2)
        print("MAIN", [thing.rank for thing in found], {type(thing) is Thing for thing in found})
        """)
    if how == "file":
        code, out, error = ran(folder, text)
    else:
        command = [sys.executable, *(["-c", text] if how == "command line" else ["-"])]
        done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=600)
        code, out, error = done.returncode, done.stdout, done.stderr
    assert code == 0, error
    assert [line for line in out.splitlines() if "MAIN" in line] == ["MAIN [0, 7] {True}"]


def nested(base):
    class Local:
        def result(self):
            return base + 1

    def inner(add):
        return Local().result() + add()
    return inner


def test_functions_without_a_name_will_do(folder):
    assert weir.run(lambda: "made") == ["made"]
    assert weir.run(nested(10), (lambda: 100,)) == [111]
    assert weir.run(nested, (1,))[0](lambda: 5) == 7  # A result without a name.


def test_arguments_that_cannot_be_pickled_are_refused():
    with pytest.raises(ValueError, match="cannot pickle nested and its arguments.*_thread.lock"):
        weir.run(nested, args=(threading.Lock(),))


def test_a_job_ends_with_the_process_that_started_it(folder):
    script = folder / "script.py"
    script.write_text(textwrap.dedent("""
        import time, weir

        def work():
            print("started", flush=True)
            time.sleep(3600)

        if __name__ == "__main__":
            weir.run(work, np=2)
        """))
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True) as job:
        assert "started" in job.stdout.readline()
        job.kill()
        job.stdout.read()  # Ends when the last process that could write there has ended.


def test_no_launcher_says_how_to_name_one(monkeypatch):
    monkeypatch.setattr("weir.launcher.command", lambda: ("nowhere/weirrun", {}))
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("WEIR_RUN_PROGRAM", raising=False)
    with pytest.raises(RuntimeError, match="Name it in WEIR_RUN_PROGRAM"):
        weir.run(nested, (1,))
