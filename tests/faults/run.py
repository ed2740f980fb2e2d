"""Makes faults in jobs, row by row and seed by seed (scripts/faults).

    run.py --weirrun FILE --training-rank FILE [--rows A,B | --churn MINUTES] [--seeds N] [--first-seed N]
           [--minutes M] [--jobs J]
"""

import argparse
import concurrent.futures
import inspect
import pathlib
import subprocess
import sys
import time

import rows

FOLDER = pathlib.Path(__file__).parent
SKIPPED = 77
# Everything that the case leaves is then its own, and goes with it.
NAMESPACES = ["unshare", "--mount", "--ipc", "--net", "--pid", "--fork", "--mount-proc"]
ENTER = 'mount -t tmpfs -o size=512m tmpfs /dev/shm && ip link set lo up && exec "$@"'


def rows_by_name():
    return [name for name, value in inspect.getmembers(rows, inspect.isfunction)
            if value.__module__ == "rows" and not name.startswith("_")]


def run_one(row, seed, arguments):
    """Returns what went wrong; empty if nothing did."""
    try:
        done = subprocess.run(
            [*NAMESPACES, "sh", "-c", ENTER, "sh", sys.executable, str(FOLDER / "case.py"), row, str(seed),
             arguments.weirrun, arguments.training_rank, str(arguments.churn)], text=True, check=False,
            timeout=120 + 90 * arguments.churn, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    except subprocess.TimeoutExpired as hung:
        return f"{row}, seed {seed}: the case has hung\n{hung.output}"
    if done.returncode != 0:
        return done.stdout
    print(done.stdout, end="", flush=True)
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weirrun", required=True)
    parser.add_argument("--training-rank", required=True)
    parser.add_argument("--rows", default="", help="names, with commas; all without it")
    parser.add_argument("--churn", type=float, default=0, help="in place of rows: deaths and arrivals for so many minutes")
    parser.add_argument("--seeds", type=int, help="cases of each row (3; of --churn 1)")
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, help="cases at once (3; of --churn 1): most of them wait for the most part")
    parser.add_argument("--minutes", type=float, default=0, help="begins no case after so long; 0: no limit")
    arguments = parser.parse_args()
    if subprocess.run([*NAMESPACES, "sh", "-c", ENTER, "sh", "true"], check=False, capture_output=True).returncode:
        print("skipped: it takes the right to make namespaces and mounts")
        return SKIPPED
    names = arguments.rows.split(",") if arguments.rows else rows_by_name()
    unknown = sorted(set(names) - set(rows_by_name()))
    if arguments.churn and arguments.rows:
        parser.error("--churn is in place of --rows")
    if arguments.churn:
        names = ["churn"]
    usual = 1 if arguments.churn else 3
    arguments.seeds, arguments.jobs = arguments.seeds or usual, arguments.jobs or usual
    if unknown:
        parser.error(f"there is no row {unknown[0]}; there are {', '.join(rows_by_name())}")
    until = time.monotonic() + 60 * arguments.minutes if arguments.minutes else float("inf")
    failures = 0
    for name in names:
        began, seeds, failed = time.monotonic(), 0, []

        def run_in_time(seed, row=name):
            return None if time.monotonic() > until else run_one(row, seed, arguments)

        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            numbers = range(arguments.first_seed, arguments.first_seed + arguments.seeds)
            for seed, trouble in zip(numbers, pool.map(run_in_time, numbers)):
                seeds += trouble is not None
                if trouble:
                    failed.append(seed)
                    print(trouble, flush=True)
        failures += len(failed)
        print(f"{name}: {seeds - len(failed)} of {seeds} seeds in {time.monotonic() - began:.0f} s"
              + (f"; failed: {failed}" if failed else ""), flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
