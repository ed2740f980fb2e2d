"""Scripts that use weir.run, from a test (fixture `folder`)."""

import os
import subprocess
import sys
import textwrap


def ran(folder, text, **environment):
    """Runs a script that uses weir.run; its output and exit code."""
    script = folder / "script.py"
    script.write_text(textwrap.dedent(text))
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True,
                          timeout=600, env={**os.environ, **environment})
    return done.returncode, done.stdout, done.stderr
