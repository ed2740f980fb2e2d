"""weir-trace merge, on traces of a real job and on some that are made up. Arguments: weirrun, byte-lm."""

import collections
import contextlib
import io
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

from weir import trace

RANKS, STEPS = 3, 4


def made_up(rank, host, unix_time_at_0_ns, exchanges, clock=None, job=None):
    """A rank's trace; `exchanges`: [(name of the track, step, start in microseconds)]; `clock`: its
    measurement, (offset, error) in nanoseconds."""
    measured = {} if clock is None else {"clock_offset_ns": clock[0], "clock_error_ns": clock[1]}
    if job is not None:
        measured["job"] = job
    tracks = {name: 2 * number + 1 for number, name in enumerate({e[0]: None for e in exchanges})}
    return [
        {"name": "process_name", "ph": "M", "pid": rank, "tid": 0,
         "args": {"name": f"rank {rank} of 2 on {host}"}},
        {"name": "process_sort_index", "ph": "M", "pid": rank,
         "args": {"sort_index": rank, "unix_time_at_0_ns": unix_time_at_0_ns, **measured}},
        *({"name": "thread_name", "ph": "M", "pid": rank, "tid": tid, "args": {"name": name}}
          for name, tid in tracks.items()),
        *({"name": "ALLREDUCE", "cat": "exchange", "ph": "X", "ts": start, "dur": 5.0, "pid": rank,
           "tid": tracks[name], "args": {"step": step}} for name, step, start in exchanges)]


class Merging(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, events):
        path = self.folder / name
        path.write_text(events if isinstance(events, str) else json.dumps(events))
        return str(path)

    def merge(self, *traces):
        return trace.merge([self.write(f"{number}.json", events)
                            for number, events in enumerate(traces)])

    def starts(self, events):
        return {event["pid"]: event["ts"] for event in events if event.get("cat") == "exchange"}

    def test_hosts_are_lined_up_by_their_wall_clocks(self):
        # Host b booted 2 ms before host a: its 2,010 us is 10 us on a.
        merged = self.merge(made_up(0, "a", 10_000_000, [("conv", 0, 10.0)]),
                            made_up(1, "b", 8_000_000, [("conv", 0, 2010.0)]))
        self.assertEqual(self.starts(merged), {0: 10.0, 1: 10.0})

    def test_ranks_of_one_host_share_its_clock(self):
        # The wall clock was read at other moments, and somebody had set it meanwhile.
        merged = self.merge(made_up(0, "a", 10_000_000, [("conv", 0, 10.0)]),
                            made_up(1, "a", 19_000_000, [("conv", 0, 11.0)]))
        self.assertEqual(self.starts(merged), {0: 10.0, 1: 11.0})

    def labels(self, events):
        return {event["pid"]: event["args"]["labels"] for event in events
                if event["name"] == "process_labels"}

    def test_measured_clocks_count_more_than_wall_clocks(self):
        # The wall clocks of the hosts are 1 ms apart; the measurement says 2 ms.
        merged = self.merge(made_up(0, "a", 10_000_000, [("conv", 0, 10.0)], (0, 0)),
                            made_up(1, "b", 9_000_000, [("conv", 0, 2010.0)], (-2_000_000, 7_500)))
        self.assertEqual(self.starts(merged), {0: 10.0, 1: 10.0})
        self.assertEqual(self.labels(merged), {0: "clock +0.0 us ± 0.0 us",
                                               1: "clock -2000.0 us ± 7.5 us"})

    def test_the_first_trace_keeps_its_times_whichever_rank_wrote_it(self):
        merged = self.merge(made_up(1, "b", 1, [("conv", 0, 2010.0)], (-2_000_000, 7_500)),
                            made_up(0, "a", 1, [("conv", 0, 10.0)], (0, 0)))
        self.assertEqual(self.starts(merged), {1: 2010.0, 0: 2010.0})
        self.assertIn("± 7.5 us", self.labels(merged)[0])

    def test_ranks_of_one_host_take_its_best_measurement(self):
        merged = self.merge(made_up(0, "a", 1, [("conv", 0, 0.0)], (0, 0)),
                            made_up(1, "b", 1, [("conv", 0, 0.0)], (5_000, 3_000)),
                            made_up(2, "b", 1, [("conv", 0, 0.0)], (4_000, 1_000)),
                            made_up(3, "a", 1, [("conv", 0, 0.0)], (900, 1_000)))
        self.assertEqual(self.starts(merged), {0: 0.0, 1: 4.0, 2: 4.0, 3: 0.0})

    def test_a_rank_whose_clock_cannot_be_that_of_its_host_keeps_its_own(self):
        merged = self.merge(made_up(0, "a", 1, [("conv", 0, 0.0)], (0, 0)),
                            made_up(1, "a", 1, [("conv", 0, 0.0)], (50_000, 2_000)))
        self.assertEqual(self.starts(merged), {0: 0.0, 1: 50.0})

    def test_where_a_rank_has_measured_nothing_wall_clocks_count(self):
        merged = self.merge(made_up(0, "a", 10_000_000, [("conv", 0, 10.0)], (0, 0)),
                            made_up(1, "b", 8_000_000, [("conv", 0, 2010.0)]))
        self.assertEqual(self.starts(merged), {0: 10.0, 1: 10.0})
        self.assertIn("by wall clocks", self.labels(merged)[1])

    def test_a_flow_joins_what_has_the_same_name_and_step(self):
        merged = self.merge(
            made_up(0, "a", 1, [("conv", 0, 10.0), ("conv", 1, 30.0), ("bias", 0, 12.0)]),
            made_up(1, "a", 1, [("conv", 0, 9.0), ("bias", 0, 13.0), ("other", 0, 14.0)]))
        flows = collections.defaultdict(list)
        for event in merged:
            if event["ph"] in "stf":
                flows[event["id"]].append((event["ph"], event["pid"], event["ts"]))
        self.assertEqual(sorted(flows.values()), [[("s", 0, 12.0), ("f", 1, 13.0)],
                                                  [("s", 1, 9.0), ("f", 0, 10.0)]])

    def test_the_same_name_twice_in_a_step_is_joined_in_order(self):
        merged = self.merge(made_up(0, "a", 1, [("x", -1, 10.0), ("x", -1, 20.0)]),
                            made_up(1, "a", 1, [("x", -1, 11.0), ("x", -1, 21.0)]))
        ends = sorted((event["ts"], event["id"]) for event in merged if event["ph"] in "sf")
        self.assertEqual([when for when, _ in ends], [10.0, 11.0, 20.0, 21.0])
        self.assertEqual([ends[0][1], ends[2][1]], [ends[1][1], ends[3][1]])

    def test_a_trace_that_was_cut_off_is_read_to_its_last_whole_event(self):
        lines = [json.dumps(event) for event in made_up(0, "a", 1, [("x", 0, 1.0), ("x", 1, 2.0)])]
        whole = "[\n" + ",\n".join(lines)
        for text, events in ((whole, len(lines)), (whole + ",\n", len(lines)),
                             (whole[:-20], len(lines) - 1)):
            merged = trace.merge([self.write("cut.json.part", text)])
            self.assertEqual(len(merged) - len(self.labels(merged)), events)

    def test_a_trace_that_was_cut_off_is_said_to_be(self):
        text = json.dumps(made_up(0, "a", 1, [("x", 0, 1.0)]))
        for given, said in ((text, False), (text[:-1] + ",", True)):
            with contextlib.redirect_stdout(io.StringIO()) as output:
                self.assertEqual(trace.main(["merge", self.write("cut.json", given)]), 0)
            self.assertEqual("cut.json is cut off" in output.getvalue(), said)

    def test_what_killed_ranks_left_is_found_beside_that_of_rank_0(self):
        first, _ = (self.write(name, "[\n" + ",\n".join(map(json.dumps, made_up(rank, "a", 1, [("x", 0, 1.0)]))))
                    for rank, name in enumerate(("killed.json.part", "killed.rank1.json.part")))
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            self.assertEqual(trace.main(["merge", first]), 0)
        self.assertIn("2 ranks", said.getvalue())
        self.assertTrue((self.folder / "killed.merged.json").is_file())

    def refused(self, *arguments):
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors):
            self.assertEqual(trace.main(["merge", *arguments]), 1)
        return errors.getvalue()

    def test_what_is_no_trace_is_refused_by_name(self):
        self.assertIn("gone.json", self.refused(str(self.folder / "gone.json")))
        self.assertIn("text.json is not a trace: it is not JSON",
                      self.refused(self.write("text.json", "hello")))
        binary = self.folder / "run.weirlog"
        binary.write_bytes(b"WLOG\xff\xfe")
        self.assertIn("run.weirlog is not a trace: it is not text", self.refused(str(binary)))
        self.assertIn("object.json is not a trace: it must be an array",
                      self.refused(self.write("object.json", {"a": 1})))
        self.assertIn("does not say which rank wrote it",
                      self.refused(self.write("other.json", [{"name": "x", "ph": "i"}])))
        # A profiler of another program names its process so.
        foreign = {"name": "process_name", "ph": "M", "pid": 7, "args": {"name": "python 7 of me"}}
        self.assertIn("foreign.json is not a trace of Weir",
                      self.refused(self.write("foreign.json", [foreign])))
        one = made_up(0, "a", 1, [])
        self.assertIn("rank 0 wrote", self.refused(self.write("a.json", one),
                                                   self.write("b.json", one)))
        self.assertIn("a.json and " + self.write("b.json", made_up(1, "a", 1, [], job="b2")),
                      self.refused(self.write("a.json", made_up(0, "a", 1, [], job="a1")),
                                   str(self.folder / "b.json")))

    def test_what_a_larger_job_has_left_is_not_of_this_one(self):
        first = self.write("run.json", made_up(0, "a", 1, [("conv", 0, 1.0)], (0, 0), "b2"))
        self.write("run.rank1.json", made_up(1, "a", 1, [("conv", 0, 2.0)], (0, 0), "b2"))
        self.write("run.rank2.json", made_up(2, "a", 1, [("conv", 0, 3.0)], (0, 0), "a1"))
        with contextlib.redirect_stdout(io.StringIO()) as said:
            self.assertEqual(trace.main(["merge", first]), 0)
        self.assertIn("2 ranks", said.getvalue())
        merged = json.loads((self.folder / "run.merged.json").read_text())
        self.assertEqual(set(self.starts(merged)), {0, 1})


class OfAJob(unittest.TestCase):
    def check_clocks(self, merged, said):
        """Checks clocks: all ranks are on this machine and have its clock, so measured offsets are 0,
        except for the error."""
        clocks = {event["pid"]: event["args"] for event in merged
                  if event["name"] == "process_sort_index"}
        self.assertEqual(set(clocks), set(range(RANKS)))
        for rank, clock in clocks.items():
            self.assertLessEqual(abs(clock["clock_offset_ns"]), clock["clock_error_ns"])
            self.assertEqual(clock["clock_error_ns"] > 0, rank > 0)
        labels = {event["pid"]: event["args"]["labels"] for event in merged
                  if event["name"] == "process_labels"}
        self.assertEqual(set(labels), set(range(RANKS)))
        self.assertIn("clocks are aligned to ", said)

    def test_every_exchange_of_every_rank_is_joined_with_the_others(self):
        weirrun, byte_lm = sys.argv[1:3]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "run.json"
            subprocess.run([weirrun, "-np", str(RANKS), "--timeline-filename", path, byte_lm,
                            "--steps", str(STEPS), "--compressor", "dgc", "--quiet"], check=True,
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                self.assertEqual(trace.main(["merge", str(path)]), 0)
            merged = json.loads((path.parent / "run.merged.json").read_text())
        self.check_clocks(merged, said.getvalue())
        exchanges = [event for event in merged if event.get("cat") == "exchange"]
        self.assertGreaterEqual(len(exchanges), RANKS * STEPS)
        flows = collections.Counter((event["pid"], event["tid"], event["ts"])
                                    for event in merged if event["ph"] in "stf")
        self.assertEqual(flows, collections.Counter((event["pid"], event["tid"], event["ts"])
                                                    for event in exchanges))
        chains = collections.defaultdict(str)
        for event in merged:
            if event["ph"] in "stf":
                chains[event["id"]] += event["ph"]
        self.assertEqual(set(chains.values()), {"s" + "t" * (RANKS - 2) + "f"})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
