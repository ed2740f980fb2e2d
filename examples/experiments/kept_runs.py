"""Runs of a training program, each made once: its result is kept, so that an experiment resumes."""

import json
import os
import pathlib
import shlex
import subprocess
import sys
import time


def add_arguments(parser, experiment):
    """Adds what every experiment is told: --out, --report and --launcher."""
    parser.add_argument("--out", type=pathlib.Path, default=f"build/experiments/{experiment}",
                        help="folder of the runs' results (default %(default)s)")
    parser.add_argument("--report", type=pathlib.Path, default="docs/experiments",
                        help="folder that the tables and curves go to (default %(default)s)")
    parser.add_argument("--launcher", default="build/release/bin/weirrun -np {ranks}",
                        help="what starts the ranks (default '%(default)s')")


class KeptRuns:
    """The runs of one experiment, a JSON file each: {"run": what defines it, "result": what it wrote}.

    `name(run)`: of its file, without the suffix. `command(run, file)`: the words of the command that makes it and
    writes its result to that file. `shown(result)`: what is printed of it.
    """

    def __init__(self, folder, name, command, shown):
        self._folder, self._name, self._command, self._shown = folder, name, command, shown

    def path(self, run):
        return self._folder / f"{self._name(run)}.json"

    def load(self, run):
        """Returns what is kept of a run, or None. A file of other settings ends the program."""
        path = self.path(run)
        if not path.exists():
            return None
        kept = json.loads(path.read_text())
        if kept["run"] != run:
            changed = sorted(k for k in run.keys() | kept["run"].keys()
                             if run.get(k) != kept["run"].get(k))
            sys.exit(f"experiment: {path} was run with other settings ({', '.join(changed)}); "
                     "give another --out, or delete the file to run it again")
        return kept

    def _execute(self, run):
        path = self.path(run)
        partial = path.with_suffix(".partial")
        partial.unlink(missing_ok=True)
        command = self._command(run, partial)
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0 or not partial.exists():
            sys.exit(f"experiment: {path.stem} failed with exit code {done.returncode}\n"
                     f"{shlex.join(command)}\n{done.stderr[-2000:]}")
        kept = {"run": run, "result": json.loads(partial.read_text())}
        # The rename makes the result whole or absent, whenever the experiment is interrupted.
        partial.write_text(json.dumps(kept, indent=1) + "\n")
        os.replace(partial, path)
        return kept

    def all(self, runs):
        """Returns what is kept of each of these, after making those that are not there yet."""
        self._folder.mkdir(parents=True, exist_ok=True)
        found = []
        for number, run in enumerate(runs, 1):
            started, how, kept = time.monotonic(), "kept", self.load(run)
            if kept is None:
                kept = self._execute(run)
                how = f"{time.monotonic() - started:.0f} s"
            print(f"{number}/{len(runs)} {self._name(run)}: {self._shown(kept['result'])} ({how})", flush=True)
            found.append(kept)
        return found
