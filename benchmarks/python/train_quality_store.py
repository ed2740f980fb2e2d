"""The records of train-quality in a file that is complete after each one, and the missing runs."""

from record_file import RecordFile
from train_quality_grid import CONFIGS, Run, described, rate_of


def text_of(options):
    """Options as they are compared and shown: {"compressor": "topk", "k": 0.01} is
    compressor=topk,k=0.01."""
    return ",".join(f"{key}={str(value).lower() if isinstance(value, bool) else value}"
                    for key, value in options.items())


class Store:
    """Rows, one for each run; the report's other parts are kept as they are. Without a path it
    keeps nothing. One process writes at a time."""

    def __init__(self, path, ranks):
        self._file = RecordFile("train-quality", path, _check_current)
        self._ranks = ranks

    def rows(self):
        """Rows with this number of ranks, by run."""
        return {_run_of(row): row for row in self._file.whole["rows"]
                if row["ranks"] == self._ranks}

    def missing(self, runs):
        """Returns those of `runs`, in their order, that have no row."""
        rows = self.rows()
        return [run for run in runs if run not in rows]

    def add(self, run, found):
        """`found`: the measurements, a dictionary."""
        self._file.whole["rows"].append({**run._asdict(), "ranks": self._ranks,
                                         "learning_rate": rate_of(run),
                                         "options": text_of(described(run)), **found})
        self._file.write()

    def set_targets(self, targets):
        self._file.whole["targets"] = targets
        self._file.write()


def _run_of(row):
    return Run(**{field: row[field] for field in Run._fields})


def _check_current(row):
    """Raises ValueError for a row of another benchmark of the same name: one from before the grid
    was changed."""
    run = _run_of(row)
    if run.config not in CONFIGS:
        raise ValueError(f"its configuration {run.config!r} is not known")
    now = {"options": text_of(described(run)), "learning_rate": rate_of(run)}
    for key, value in now.items():
        if row[key] != value:
            raise ValueError(f"its {run.config} on {run.model} was run with {key} {row[key]}, which "
                             f"is {value} now")
