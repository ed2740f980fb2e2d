"""The file of a benchmark that takes hours: complete after each measurement."""

import json
import os
import pathlib
import sys


class RecordFile:
    """`whole`: the file's content, which write() stores. Without a path it is not stored. One process
    writes at a time."""

    def __init__(self, name, path, check_row=lambda row: None, **more):
        """`check_row` raises ValueError for a row of another version of the benchmark. `more`: further
        parts of a new file, beside those of a report."""
        self._name, self._path = name, path and pathlib.Path(path)
        self.whole = {"name": name, "machine": {"cores": os.cpu_count()}, "rows": [],
                      "targets": [], **more}
        if self._path and self._path.exists() and self._path.stat().st_size > 0:
            self.whole.update(self._read(check_row))

    def _read(self, check_row):
        try:
            whole = json.loads(self._path.read_text(encoding="utf-8"))
            if whole["name"] != self._name:
                raise ValueError(f"it is of the benchmark {whole['name']}")
            for row in whole["rows"]:
                check_row(row)
        except (ValueError, KeyError, TypeError) as error:
            sys.exit(f"{self._name}: --json {self._path} cannot be continued: {error}; delete it, "
                     "or give another file")
        return whole

    def write(self):
        if not self._path:
            return
        # One line per row: a file that grew by a run differs by a line.
        parts = []
        for key, value in self.whole.items():
            text = json.dumps(value)
            if isinstance(value, list):
                text = "[" + ",".join("\n  " + json.dumps(item) for item in value) + "\n ]"
            parts.append(f" {json.dumps(key)}: {text}")
        # The rename makes the file complete or leaves the old one, whenever the run is interrupted.
        partial = self._path.with_suffix(".partial")
        partial.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")
        os.replace(partial, self._path)
