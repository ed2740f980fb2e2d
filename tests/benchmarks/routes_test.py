"""Tests of the parts of benchmarks/python/routes.py that need no job."""

import contextlib
import io
import pathlib
import sys
import tempfile
import unittest
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "benchmarks" / "python"))

import numpy  # noqa: E402

import route_bytes  # noqa: E402
import routes_crossing  # noqa: E402
from dgc_selection import Selection, largest_entries, rounded  # noqa: E402
from route_bytes import Case, Tensor  # noqa: E402
from routes_report import RoutesReport  # noqa: E402
from routes_table import ROUTES, Terms, pair_bytes  # noqa: E402

try:
    import routes_plot
except ImportError:  # Without matplotlib.
    routes_plot = None

TENSORS = [Tensor("a", (600, 512)), Tensor("bias", (64,)), Tensor("b", (50, 64))]


class Sizes(unittest.TestCase):
    def test_parts_are_as_long_as_the_examples_of_the_wire_format(self):
        self.assertEqual(route_bytes.index_bytes(16, 3), 2)
        self.assertEqual(route_bytes.sparse_part(16, 3, 2), 6 + 2 + 3 * 2)
        self.assertEqual(route_bytes.sparse_part(16, 0, 2), 6)
        self.assertEqual(route_bytes.index_bytes(800, 400), 100)  # A bitmap.

    def test_large_tensors_have_a_bucket_each_and_small_ones_share_one(self):
        self.assertEqual(route_bytes.buckets(TENSORS), [[2, 1], [0]])
        # Until they are an eighth of all, or a MiB.
        self.assertEqual(route_bytes.buckets([Tensor(str(i), (200, 1000)) for i in range(4)]),
                         [[3, 2], [1, 0]])

    def test_an_all_gather_sends_one_frame_to_every_other_rank(self):
        case = Case(TENSORS, hosts=3, ranks_on_host=1, density=0.01)
        frames = (49 + route_bytes.sparse_part(600 * 512, 3072, 2)
                  + 49 + route_bytes.sparse_part(3200, 32, 2) + 2 + 2 * 64)
        self.assertEqual(route_bytes.all_gather(case, 1), [frames, 0, frames])

    def test_an_all_reduce_sends_every_part_once_and_its_result_to_all(self):
        for ranks in (2, 3, 8):
            case = Case([Tensor("a", (768, 1000))], ranks, 1, 1.0)
            sent = sum(sum(route_bytes.dense(case, rank)) for rank in range(ranks))
            self.assertEqual(sent, 2 * (ranks - 1) * 4 * 768_000)

    def test_between_hosts_only_what_goes_to_other_hosts_counts(self):
        self.assertEqual(route_bytes.between_hosts([1, 0, 10, 100], 1, 2), 110)
        # In a hierarchy only the first rank's frame.
        case = Case(TENSORS, hosts=2, ranks_on_host=2, density=0.01)
        frame = route_bytes.all_gather(case, 1)[0]
        crossing = [route_bytes.between_hosts(route_bytes.hierarchical(case, rank), rank, 2)
                    for rank in range(4)]
        self.assertEqual(crossing, [frame, 0, frame, 0])

    def test_servers_take_turns_and_answer_everybody(self):
        # Parts 0 and 1 are halves of the first tensor, part 2 is the other one.
        tensors = [Tensor("a", (1100, 1000)), Tensor("b", (50, 64))]
        case = Case(tensors, hosts=3, ranks_on_host=1, density=0.01)
        half = 49 + route_bytes.sparse_part(550_000, 5500, 2)
        last = 49 + route_bytes.sparse_part(3200, 32, 2)
        self.assertEqual([route_bytes.push_pull(case, rank) for rank in range(3)],
                         [[0, 2 * half, half + last], [2 * half, 0, half + last],
                          [half + last, half + last, 0]])

    def test_the_ranges_of_a_split_gather_hold_every_element_once(self):
        pieces = [piece for owner in range(7)
                  for piece in route_bytes._pieces(TENSORS, [2, 1], 7, owner)]
        for number in (1, 2):
            mine = [(piece.begin, piece.end) for piece in pieces if piece.tensor == number]
            self.assertEqual(mine[0][0], 0)
            self.assertEqual(mine[-1][1], TENSORS[number].elements)
            self.assertEqual([end for _, end in mine[:-1]], [begin for begin, _ in mine[1:]])

    def test_a_split_gather_of_equal_choices_sends_their_union_once(self):
        tensors = [Tensor("a", (768, 1000))]
        chosen = numpy.arange(768_000) % 100 == 0
        case = Case(tensors, 2, 1, 0.01, [[chosen], [chosen]])
        half = 384_000
        parts = [49 + 4 + route_bytes.sparse_part(half, half // 100, width) for width in (2, 4)]
        self.assertEqual(route_bytes.split(case, 0), [0, sum(parts)])


class Selections(unittest.TestCase):
    def test_of_equal_magnitudes_the_lower_index_is_chosen(self):
        chosen = largest_entries(numpy.float32([1, -2, 2, 3, -2]), 3)
        self.assertEqual(numpy.flatnonzero(chosen).tolist(), [1, 2, 3])

    def test_fp16_values_share_a_power_of_two(self):
        values = numpy.float32([1e-7, 3e-7])
        numpy.testing.assert_allclose(rounded(values), values, rtol=2**-11)
        self.assertEqual(rounded(numpy.float32([0.0])).tolist(), [0.0])

    def test_what_is_not_sent_accumulates_with_its_momentum(self):
        selection = Selection([Tensor("a", (1, 1024))], density=1 / 1024)
        gradient = numpy.ones(1024, numpy.float32)
        gradient[7] = 2
        for expected in (7, 0):  # Then 7 begins anew at 2, behind 1 + 1.9 of all others.
            chosen, = selection.step([gradient])
            self.assertEqual(numpy.flatnonzero(chosen).tolist(), [expected])


class Formulas(unittest.TestCase):
    def test_a_pair_takes_what_its_part_takes_on_average(self):
        for density in (0.001, 0.01, 0.2, 0.7):
            k = route_bytes.entries(1 << 22, density)
            self.assertAlmostEqual(route_bytes.sparse_part(1 << 22, k, 2) / k
                                   / pair_bytes(density, 2), 1, places=2)

    def test_dense_and_all_gather_cross_where_the_pair_says(self):
        found = routes_crossing.by_formula("dense", "allgather", 8, 1, 0.001, lambda _: 8)
        self.assertAlmostEqual(found, 8 / (pair_bytes(found, 2) * 8), places=4)
        self.assertIsNone(
            routes_crossing.by_formula("dense", "allgather", 2, 1, 0.001, lambda _: 2))

    def test_a_hierarchy_is_an_all_gather_among_hosts(self):
        terms = Terms(4, 2, 1000, 0.01, 10)
        self.assertEqual(ROUTES["hierarchical"].formula(terms),
                         ROUTES["allgather"].formula(terms._replace(ranks_on_host=1)))

    def test_the_overlap_of_independent_choices_is_the_number_of_ranks(self):
        self.assertAlmostEqual(routes_crossing.overlap_of(0.1, 1 - 0.9**4, 4), 4)
        self.assertAlmostEqual(routes_crossing.overlap_of(0.1, 0.1, 4), 1)
        self.assertAlmostEqual(routes_crossing.union_of(0.1, 4), 1 - 0.9**4)

    def test_measured_crossings_lie_between_measured_densities(self):
        self.assertAlmostEqual(
            routes_crossing.measured({0.1: 1, 0.4: 4}, {0.1: 2, 0.4: 2}), 0.2)
        self.assertIsNone(routes_crossing.measured({0.1: 1, 0.4: 4}, {0.1: 5, 0.4: 5}))


def record(route, payload, counted, interface, **more):
    return {"route": route, "density": 0.01, "elements": 1000, "step": 1, "seconds": 0.5,
            "negotiation": 32, "payload": payload, "counted": counted, "leaving": counted,
            "interface": interface, "packets": 2, "resent": 0, "union": 20, **more}


class Reports(unittest.TestCase):
    def report(self, *of_ranks):
        report = RoutesReport("100mbit")
        report.add(2, 1, [{"refused": {"push_pull": "no such route"}, "records": records}
                          for records in of_ranks])
        report.add_crossings()
        report.add_targets()
        return report

    def targets(self, report):
        return {target["name"]: (target["value"], target["met"]) for target in report.targets}

    def test_a_payload_that_differs_from_the_count_misses_the_target(self):
        name = "steps of a rank whose payload is not the exact count"
        equal, other = (record("allgather", payload, 100, 104) for payload in (100, 101))
        self.assertEqual(self.targets(self.report([equal], [equal]))[name], (0, True))
        self.assertEqual(self.targets(self.report([equal], [other]))[name], (1, False))

    def test_interfaces_are_held_to_the_payload(self):
        name = "allgather: interface / payload, furthest from 1"
        for interface, met in ((104, True), (94, False), (106, False)):
            one = record("allgather", 100, 100, interface)
            value, found = self.targets(self.report([one], [one]))[name]
            self.assertAlmostEqual(value, abs(interface / 100 - 1))
            self.assertEqual(found, met)

    def test_the_slowest_rank_is_timed_and_a_refused_route_named(self):
        report = self.report([record("allgather", 1, 1, 1)],
                             [record("allgather", 1, 1, 1, seconds=2.0)])
        self.assertEqual(report.rows[0]["seconds"], 2.0)
        with contextlib.redirect_stdout(io.StringIO()) as shown:
            report.print()
        self.assertIn("not available: push_pull (no such route)", shown.getvalue())

    @unittest.skipIf(routes_plot is None, "there is no matplotlib")
    def test_the_plot_names_its_routes_and_densities(self):
        both = [record("allgather", 100, 100, 104), record("dense", 4000, 4000, 4100)]
        rows = self.report(both, both).rows
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "plot.svg"
            routes_plot.save(rows, path)
            first = path.read_bytes()
            routes_plot.save(rows, path)
            self.assertEqual(path.read_bytes(), first)
        text = [element.text for element in xml.etree.ElementTree.fromstring(first).iter()]
        for word in ("density 1 %", "dense all-reduce", "all-gather"):
            self.assertIn(word, text)


if __name__ == "__main__":
    unittest.main()
