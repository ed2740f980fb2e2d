"""The records of train-quality in a file that is whole after each one, and what is still missing."""

import json
import os
import pathlib
import sys

from train_quality_grid import CONFIGS, Run, options_of, rate_of


def text_of(options):
    """Options as they are compared and shown: {"compressor": "topk", "k": 0.01} is
    compressor=topk,k=0.01."""
    return ",".join(f"{key}={str(value).lower() if isinstance(value, bool) else value}"
                    for key, value in options.items())


class Store:
    """Rows, one for each run; the report's other parts are kept as they are. Without a path it
    keeps nothing. One process writes at a time."""

    def __init__(self, path, ranks):
        self._path, self._ranks = path and pathlib.Path(path), ranks
        self._whole = {"name": "train-quality", "machine": {"cores": os.cpu_count()}, "rows": [],
                       "targets": [], "refused": {}}
        if self._path and self._path.exists() and self._path.stat().st_size > 0:
            self._whole.update(self._read())

    def _read(self):
        try:
            whole = json.loads(self._path.read_text(encoding="utf-8"))
            if whole["name"] != "train-quality":
                raise ValueError(f"it is of the benchmark {whole['name']}")
            for row in whole["rows"]:
                _check_current(row)
        except (ValueError, KeyError, TypeError) as error:
            sys.exit(f"train-quality: --json {self._path} cannot be continued: {error}; delete it, "
                     "or give another file")
        return whole

    def rows(self):
        """Those with this number of ranks, by run."""
        return {_run_of(row): row for row in self._whole["rows"] if row["ranks"] == self._ranks}

    def missing(self, runs):
        """Of `runs`, in their order, those without a row. Whether Weir refuses an option is found
        out anew each time."""
        rows = self.rows()
        return [run for run in runs if run not in rows]

    def add(self, run, found):
        """`found`: what was measured, a dictionary."""
        self._whole["rows"].append({**run._asdict(), "ranks": self._ranks,
                                    "learning_rate": rate_of(run),
                                    "options": text_of(options_of(run)), **found})
        self._whole["refused"].pop(run.config, None)
        self._write()

    def refuse(self, config, why):
        """Weir does not know an option of the configuration."""
        self._whole["refused"][config] = why
        self._write()

    @property
    def refused(self):
        return self._whole["refused"]

    def set_targets(self, targets):
        self._whole["targets"] = targets
        self._write()

    def _write(self):
        if not self._path:
            return
        # A line for a row: a file that grew by a run differs by a line.
        parts = []
        for key, value in self._whole.items():
            text = json.dumps(value)
            if isinstance(value, list):
                text = "[" + ",".join("\n  " + json.dumps(item) for item in value) + "\n ]"
            parts.append(f" {json.dumps(key)}: {text}")
        # The rename makes the file whole or leaves the one before, whenever the run is interrupted.
        partial = self._path.with_suffix(".partial")
        partial.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")
        os.replace(partial, self._path)


def _run_of(row):
    return Run(**{field: row[field] for field in Run._fields})


def _check_current(row):
    """Raises ValueError for a row of another benchmark of the same name: one from before the grid
    was changed."""
    run = _run_of(row)
    if run.config not in CONFIGS:
        raise ValueError(f"its configuration {run.config!r} is not known")
    now = {"options": text_of(options_of(run)), "learning_rate": rate_of(run)}
    for key, value in now.items():
        if row[key] != value:
            raise ValueError(f"its {run.config} on {run.model} was run with {key} {row[key]}, which "
                             f"is {value} now")
