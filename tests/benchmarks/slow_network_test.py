"""Tests of the parts of benchmarks/python/slow_network.py that need no network."""

import argparse
import os
import pathlib
import sys
import tempfile
import unittest
import unittest.mock
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "benchmarks" / "python"))

import torch  # noqa: E402

import gradient_sets  # noqa: E402
import slow_network  # noqa: E402
from record_file import RecordFile  # noqa: E402
from replay import Gradients, Replay  # noqa: E402
from slow_network_report import Network, SlowNetworkReport  # noqa: E402

try:
    import slow_network_plot
except ImportError:  # Without matplotlib.
    slow_network_plot = None


def row(shape, backprop, column, seconds):
    return {"shape": shape, "backprop": backprop, "column": column, "seconds": seconds,
            "steps": 1, "MB": 1.0}


def rows_at(rate, measured, rows):
    """Returns the same, for a network of that rate."""
    network = Network(rate, measured)
    about = {"rate": rate, "TCP, Mb/s": measured, "reached": network.reached, "hosts": 4}
    return [{**about, **each} for each in rows]


class GradientSets(unittest.TestCase):
    def test_they_have_as_many_elements_as_the_models_have_parameters(self):
        # torchvision's vgg16, resnet50; 10,000 x 1500 + 2 x (2 x 6000 x 1500 + 2 x 6000) + 10,000.
        counts = {name: gradient_sets.elements(gradient_sets.SETS[name]())
                  for name in ("vgg16", "resnet50", "lstm")}
        self.assertEqual(counts, {"vgg16": 138_357_544, "resnet50": 25_557_032, "lstm": 51_034_000})

    def test_the_arithmetic_is_the_models(self):
        # Multiply-adds of a forward pass, as torchvision says: 15.47e9 and 4.09e9.
        def work(name):
            return sum(layer.work for layer in gradient_sets.SETS[name]())
        self.assertAlmostEqual(work("vgg16") / 15.47e9, 1, places=2)
        self.assertAlmostEqual(work("resnet50") / 4.09e9, 1, places=1)


class Replays(unittest.TestCase):
    def setUp(self):
        self.store = Gradients(gradient_sets.tiny(), rank=3)
        self.store.refresh()
        self.model = Replay(self.store)

    def backward(self):
        loss = self.model(torch.zeros((), requires_grad=True))
        self.model.start_backprop()
        loss.backward()

    def test_gradients_are_handed_out_without_a_copy(self):
        self.backward()
        handed = [gradient for layer in self.store.gradients for gradient in layer]
        for parameter, gradient in zip(self.model.parameters(), handed):
            self.assertEqual(parameter.grad.data_ptr(), gradient.data_ptr())
            self.assertEqual(parameter.shape, gradient.shape)

    def test_the_last_layer_s_gradients_are_ready_first(self):
        seen = []
        for index, layer in enumerate(self.model.layers):
            for parameter in layer.parameters():
                parameter.register_hook(lambda _, index=index: seen.append(index))
        self.backward()
        self.assertEqual(seen, sorted(seen, reverse=True))
        self.assertEqual(set(seen), set(range(len(self.model.layers))))

    def test_the_first_layer_s_gradients_are_ready_at_the_end_of_the_backward_pass(self):
        ready = self.model.ready
        self.assertEqual(ready[0], 1.0)
        self.assertEqual(ready, sorted(ready, reverse=True))

    def test_gradients_are_other_numbers_in_each_step_and_on_each_rank(self):
        def first(store):
            store.refresh()
            return store.gradients[0][0].clone()
        stores = [Gradients(gradient_sets.tiny(), rank) for rank in (3, 4)]
        mine, others = map(first, stores)
        next_one = first(stores[0])
        self.assertLess((mine == next_one).float().mean(), 0.01)
        self.assertLess((mine == others).float().mean(), 0.01)
        self.assertAlmostEqual(mine.std().item(), 1, places=1)


class Reports(unittest.TestCase):
    def test_a_rate_that_the_machine_does_not_reach_is_marked(self):
        self.assertTrue(Network("100mbit", 95.8).reached)
        self.assertTrue(Network("1gbit", 932.0).reached)
        self.assertFalse(Network("10gbit", 7388.0).reached)
        self.assertTrue(Network("none", 10.0).reached)
        self.assertEqual(Network("10gbit", 7388.0).label(), "10gbit*")
        self.assertEqual(Network("none", 1.0).label(), "unshaped")

    def targets(self, rate, rows):
        report = SlowNetworkReport(rows_at(rate, 95.8, rows))
        report.add_targets()
        return {target["name"]: (target["value"], target["met"]) for target in report.targets}

    def test_at_100_mbit_dgc_is_held_to_the_exchange_alone(self):
        rows = [row("vgg16", 0.0, "ddp", 140.0), row("vgg16", 0.0, "weir-dgc", 1.0),
                row("vgg16", 0.0, "ddp-powersgd-4", 2.0),
                row("vgg16", 0.25, "ddp", 70.0), row("vgg16", 0.25, "weir-dgc", 35.0)]
        where = "100mbit, vgg16, backprop 0 s"
        self.assertEqual(self.targets("100mbit", rows),
                         {f"{where}: DDP / Weir's DGC": (140.0, True),
                          f"{where}: DDP's PowerSGD of rank 4 / Weir's DGC": (2.0, False)})

    def test_a_step_of_dgc_is_held_to_what_the_network_or_the_cores_take_at_least(self):
        rows = rows_at("100mbit", 80.0, [{**row("vgg16", 0.0, "weir-dgc", 3.0), "MB": 20.0},
                                         {**row("lstm", 0.0, "weir-dgc", 3.0), "MB": 1.0}])
        work = [{"shape": shape, "column": "weir-dgc", "processor seconds": 1.0} for shape in ("vgg16", "lstm")]
        report = SlowNetworkReport(rows, work)
        report.add_targets()
        hosts, cores = rows[0]["hosts"], min(rows[0]["hosts"], os.cpu_count())
        at_work = hosts / cores  # Seconds.
        self.assertEqual({target["name"].split(",")[1].strip(): target["value"] for target in report.targets},
                         {"vgg16": 3.0 / max(2.0, at_work), "lstm": 3.0 / at_work})

    def test_without_a_limit_dense_is_held_to_ddp(self):
        rows = [row("lstm", 0.0, "ddp", 2.0), row("lstm", 0.0, "weir-dense", 1.0),
                row("lstm", 0.25, "ddp", 2.0), row("lstm", 0.25, "weir-dense", 3.0)]
        self.assertEqual(self.targets("none", rows),
                         {"unshaped, lstm, backprop 0 s: Weir's dense / DDP": (0.5, True),
                          "unshaped, lstm, backprop 0.25 s: Weir's dense / DDP": (1.5, False)})

    def test_what_was_not_measured_is_no_target(self):
        rows = [row("vgg16", 0.0, "ddp", 70.0), row("vgg16", 0.0, "weir-dgc", 1.0)]
        self.assertEqual(self.targets("1gbit", rows), {})
        self.assertEqual(self.targets("100mbit", rows[:1]), {})

    @unittest.skipIf(slow_network_plot is None, "there is no matplotlib")
    def test_the_plot_names_every_column_and_set(self):
        some = [row(shape, 0.0, column, 1.0) for shape, column in
                (("lstm", "ddp"), ("vgg16", "ddp"), ("vgg16", "weir-dgc"))]
        rows = [full for rate, measured in (("100mbit", 95.8), ("10gbit", 7388.0), ("none", 10046.0))
                for full in rows_at(rate, measured, some)]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "plot.svg"
            slow_network_plot.save(rows, path)
            first = path.read_bytes()
            slow_network_plot.save(rows, path)
            self.assertEqual(path.read_bytes(), first)
        text = [element.text for element in xml.etree.ElementTree.fromstring(first).iter()]
        for word in ("lstm, backprop 0 s", "vgg16, backprop 0 s", "ddp", "weir-dgc"):
            self.assertIn(word, text)


class Resuming(unittest.TestCase):
    """measure_missing with given measurements."""

    def setUp(self):
        self.measured = []
        for name, stub in (("check", self.check), ("measure", self.measure)):
            patch = unittest.mock.patch.object(slow_network, name, stub)
            patch.start()
            self.addCleanup(patch.stop)

    @staticmethod
    def check(options, rate):
        return {"rate": rate, "TCP, Mb/s": 90.0, "reached": True, "hosts": options.hosts}

    def measure(self, options, rate, shape, columns, backprop):
        self.measured.append((rate, shape))
        if shape == "broken":
            raise SystemExit(1)
        return [row(shape, seconds, column, 1.0) for column in columns for seconds in backprop]

    def run_all(self, file, shapes="vgg16,lstm", columns="ddp,weir-dgc"):
        """Returns the measurements of this run."""
        self.measured = []
        options = argparse.Namespace(hosts=4, rates=["100mbit", "none"], shapes=shapes.split(","),
                                     columns=columns.split(","), backprop=[0.0, 0.25])
        slow_network.measure_missing(options, RecordFile("slow-network", file))
        return self.measured

    def test_a_second_run_measures_what_the_first_one_has_not(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "rows.json"
            with self.assertRaises(SystemExit):
                self.run_all(file, "vgg16,broken,lstm")
            self.assertEqual(self.run_all(file), [("100mbit", "lstm"), ("none", "vgg16"),
                                                  ("none", "lstm")])
            self.assertEqual(self.run_all(file), [])

    def test_a_set_is_measured_as_a_whole_where_a_column_is_missing(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "rows.json"
            self.run_all(file, "lstm", columns="ddp")
            self.assertEqual(self.run_all(file, "lstm"), [("100mbit", "lstm"), ("none", "lstm")])
            rows = RecordFile("slow-network", file).whole["rows"]
            self.assertEqual(len(rows), 2 * 2 * 2)

    def test_columns_that_are_not_asked_for_this_time_are_measured_again_and_not_lost(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "rows.json"
            self.run_all(file, "lstm", columns="ddp")
            self.run_all(file, "lstm", columns="weir-dgc")
            rows = RecordFile("slow-network", file).whole["rows"]
            self.assertEqual({row["column"] for row in rows}, {"ddp", "weir-dgc"})
            self.assertEqual(len(rows), 2 * 2 * 2)


if __name__ == "__main__":
    unittest.main()
