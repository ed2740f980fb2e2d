"""The tables of the benchmark routes and its targets."""

import collections
import itertools
import math
import statistics

import routes_crossing
from report import Report, print_table
from routes_table import ROUTES, Terms

# Ethernet, IP and TCP with its time stamps. The kernel counts a packet before it is cut into frames.
HEADERS = 14 + 20 + 32
SEGMENT = 1448 + HEADERS  # Most bytes of a segment.


def _row(hosts, slots, route, density, by_rank):
    """`by_rank`: each rank's records of this route and density, step by step."""
    records = list(itertools.chain(*by_rank))
    seconds = [max(record["seconds"] for record in step) for step in zip(*by_rank)]
    # One host's bytes in one step; ranks of a host follow each other.
    of_hosts = [step[first:first + slots] for step in zip(*by_rank)
                for first in range(0, hosts * slots, slots)]

    def mean(key):
        """Mean over hosts and steps of their ranks' sums."""
        return statistics.fmean(sum(record[key] for record in host) for host in of_hosts)
    leaving = mean("leaving")
    interface, packets, resent = (statistics.fmean(host[0][key] for host in of_hosts)
                                  for key in ("interface", "packets", "resent"))
    unions = [record["union"] for record in records if record["union"] is not None]
    union = statistics.fmean(unions) if unions else math.nan
    elements = records[0]["elements"]
    return {
        "hosts": hosts, "ranks on a host": slots, "ranks": hosts * slots, "route": route,
        "density": density, "elements": elements, "seconds": statistics.median(seconds),
        "fastest": min(seconds), "slowest": max(seconds), "times": seconds,
        "payload": sum(record["payload"] for record in records),
        "counted": sum(record["counted"] for record in records),
        "differing": sum(record["payload"] != record["counted"] for record in records),
        "leaving a host": leaving, "interface": interface,
        "interface / payload": interface / leaving, "headers": HEADERS * packets,
        "resent": SEGMENT * resent,
        "negotiation": mean("negotiation"), "union": union if unions else None,
        "formula": ROUTES[route].formula(Terms(hosts, slots, elements, density, union))}


class RoutesReport(Report):
    """Rows: one for each job, route and density. Bytes are of one host and step, `payload` and
    `counted` of all ranks and steps."""

    def __init__(self, rate):
        super().__init__("routes")
        self._rate = rate
        self.more.update(rate=rate, refused={}, crossings=[])

    def add(self, hosts, slots, of_ranks):
        self.more["refused"].update(of_ranks[0]["refused"])
        order = list(ROUTES)
        found = collections.defaultdict(lambda: [[] for _ in of_ranks])
        for rank, report in enumerate(of_ranks):
            for record in report["records"]:
                found[record["density"], order.index(record["route"])][rank].append(record)
        self.rows += [_row(hosts, slots, order[number], density, by_rank)
                      for (density, number), by_rank in sorted(found.items())]

    def _jobs(self):
        return list(dict.fromkeys((row["hosts"], row["ranks on a host"]) for row in self.rows))

    def _of(self, job, route):
        """Returns {density: row}; a route without compression carries the same at each."""
        rows = [row for row in self.rows
                if (row["hosts"], row["ranks on a host"], row["route"]) == (*job, route)]
        if rows and not ROUTES[route].compresses:
            return {row["density"]: rows[0] for row in self.rows}
        return {row["density"]: row for row in rows}

    def add_crossings(self):
        """Adds the crossings of every two routes of a job."""
        for job in self._jobs():
            present = [route for route in ROUTES if self._of(job, route)]
            overlap = self._overlap(job)
            lowest = min(row["density"] for row in self.rows)
            for route, other in itertools.combinations(present, 2):
                sizes = [{density: row["leaving a host"] / row["elements"]
                          for density, row in self._of(job, name).items()} for name in (route, other)]
                self.more["crossings"].append({
                    "hosts": job[0], "ranks on a host": job[1], "routes": [route, other],
                    "measured": routes_crossing.measured(*sizes),
                    "formula": routes_crossing.by_formula(route, other, *job, lowest, overlap),
                    "formula, independent": routes_crossing.by_formula(
                        route, other, *job, lowest, lambda _: job[0] * job[1])})

    def _overlap(self, job):
        ranks = job[0] * job[1]
        points = [(math.log(density), routes_crossing.overlap_of(
                      density, row["union"] / row["elements"], ranks))
                  for density, row in sorted(self._of(job, "split").items())
                  if density < 1 and row["union"] is not None]
        if not points:
            return lambda _: ranks
        return lambda density: routes_crossing.between(points, math.log(density))

    def add_targets(self):
        self.add_target("steps of a rank whose payload is not the exact count",
                        sum(row["differing"] for row in self.rows), "<=", 0)
        for route in ROUTES:
            off = [abs(row["interface / payload"] - 1) for row in self.rows
                   if row["route"] == route]
            if off:
                self.add_target(f"{route}: interface / payload, furthest from 1", max(off), "<=",
                                0.05)

    def _line(self, row):
        payload = row["leaving a host"]
        return {
            "job": f"{row['hosts']} x {row['ranks on a host']}",
            "density": f"{100 * row['density']:g} %" if ROUTES[row["route"]].compresses else "",
            "Mi elements": row["elements"] / 2**20, "route": row["route"],
            "s": row["seconds"], "kB a host": payload / 1e3,
            "count": "equal" if row["differing"] == 0 else f"{row['differing']} DIFFER",
            "interface / payload": row["interface / payload"],
            "headers / payload": row["headers"] / payload,
            "resent / payload": row["resent"] / payload,
            "formula / payload": row["formula"] / payload}

    def print_tables(self):
        for route, reason in self.more["refused"].items():
            print(f"not available: {route} ({reason})")
        print(f"\nrate {self._rate}; s: the slowest rank's, median of steps; kB: what leaves a host "
              "in a step for other\nhosts, payload handed to the transport; count: whether all that "
              "each rank handed to it in each\nstep is what an exact count says\n")
        for job in self._jobs():
            print_table([self._line(row) for row in self.rows
                         if (row["hosts"], row["ranks on a host"]) == job])
        self._print_crossings()

    def _print_crossings(self):
        print("densities at which two routes carry the same; all others never do\n")

        def shown(density):
            return "never" if density is None else f"{100 * density:.3g} %"
        kinds = ("measured", "formula", "formula, independent")
        lines = [{"job": f"{found['hosts']} x {found['ranks on a host']}",
                  "routes": " / ".join(found["routes"]),
                  **{kind: shown(found[kind]) for kind in kinds}}
                 for found in self.more["crossings"] if any(found[kind] for kind in kinds)]
        if lines:
            print_table(lines)
