"""The files that the ranks of a job write beside each other: run.json, run.rank1.json, run.rank2.json."""

import glob
import os
import re
from typing import Dict


def rank_files(path: str) -> Dict[int, str]:
    """{rank: path}, ascending. `path` is rank 0's file, which need not be there."""
    stem, ending = os.path.splitext(path)
    found = {0: path}
    for name in glob.glob(f"{glob.escape(stem)}.rank*{glob.escape(ending)}"):
        match = re.fullmatch(r"\.rank(\d+)", name[len(stem):len(name) - len(ending)])
        if match:
            found[int(match.group(1))] = name
    return {rank: found[rank] for rank in sorted(found)}
