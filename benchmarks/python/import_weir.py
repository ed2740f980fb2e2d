"""Time and memory of `import weir.torch` beyond torch itself."""

import statistics
import subprocess
import sys

from report import Report, arguments

PROBE = """
import resource, time, torch
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()
start, before = time.perf_counter(), resident()
import weir.torch
print(time.perf_counter() - start, resident() - before)
"""


def main():
    options = arguments(__doc__).parse_args()
    found = []
    for _ in range(9):
        output = subprocess.run([sys.executable, "-c", PROBE], check=True, capture_output=True,
                                text=True).stdout
        found.append([float(word) for word in output.split()])
    milliseconds = statistics.median(time for time, _ in found) * 1e3
    mebibytes = statistics.median(size for _, size in found) / 2**20
    report = Report("import")
    report.rows.append({"ms": milliseconds, "MiB": mebibytes})
    report.add_target("milliseconds", milliseconds, "<=", 50.0)
    report.add_target("MB", mebibytes * 2**20 / 1e6, "<=", 20.0)
    report.end(options)


if __name__ == "__main__":
    main()
