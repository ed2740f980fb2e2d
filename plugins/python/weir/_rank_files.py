"""The files that the ranks of a job write beside each other: run.json, run.rank1.json, run.rank2.json."""

import glob
import os
import re
from typing import Dict, Tuple


def stem_and_ending(path: str) -> Tuple[str, str]:
    """Splits run.json.part, which a killed job leaves behind, into run and .json.part."""
    stem, ending = os.path.splitext(path)
    if ending == ".part":
        stem, inner = os.path.splitext(stem)
        ending = inner + ending
    return stem, ending


def may_be_same_job(one: str, other: str) -> bool:
    """True if two ids, of /run or a file, may belong to one job. "": not known."""
    return not one or not other or one == other


def rank_files(path: str) -> Dict[int, str]:
    """Returns {rank: path}, ascending. `path` is rank 0's file, which need not exist."""
    stem, ending = stem_and_ending(path)
    found = {0: path}
    for name in glob.glob(f"{glob.escape(stem)}.rank*{glob.escape(ending)}"):
        match = re.fullmatch(r"\.rank(\d+)", name[len(stem):len(name) - len(ending)])
        if match:
            found[int(match.group(1))] = name
    return {rank: found[rank] for rank in sorted(found)}
