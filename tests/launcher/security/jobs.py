"""Jobs that run until they are told to end."""

import os
import pathlib
import re
import subprocess
import tempfile

from processes import descendants

# An end of a hang only.
PATIENCE = 120


class Started:
    """Processes of a job of attacked_rank: one weirrun, or the ranks of another launcher."""

    def __init__(self, test, commands, environments, program):
        self.folder = tempfile.TemporaryDirectory()
        test.addCleanup(self.folder.cleanup)
        self.stop = os.path.join(self.folder.name, "stop")
        self.processes = [
            subprocess.Popen([*command, program, self.stop], text=True, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, env={**os.environ, **environment})
            for command, environment in zip(commands, environments)]
        self.said = []
        for process in self.processes:
            test.addCleanup(process.stdout.close)
            test.addCleanup(process.wait)
            test.addCleanup(process.kill)

    def wait_for_ranks(self, ranks):
        """Reads until the ranks have met. Returns their processes."""
        pids = {}
        for process in self.processes:
            for line in process.stdout:
                self.said.append(line)
                if match := re.search(r"rank (\d+) is process (\d+)", line):
                    pids[int(match[1])] = int(match[2])
                if len(pids) == ranks or pids and len(self.processes) > 1:
                    break
        if len(pids) != ranks:
            raise AssertionError("".join(self.said))
        return pids

    def all(self):
        return [pid for process in self.processes for pid in descendants(process.pid)]

    def end(self):
        """Lets the job end by itself. Returns what it has said, and the exit codes."""
        pathlib.Path(self.stop).touch()
        for process in self.processes:
            self.said.append(process.communicate(timeout=PATIENCE)[0])
        return "".join(self.said), [process.returncode for process in self.processes]
