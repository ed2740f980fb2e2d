"""weir-simulate, on the log of a real job and on a run that is made up. Arguments: weirrun, byte-lm."""

import contextlib
import csv
import io
import math
import pathlib
import subprocess
import sys
import tempfile
import unittest

from weir import simulate
from weir._simulation import link, routes
from weir._simulation.predictions import FRAMED
from weir._simulation.recorded import Bucket
from weir.simulate import Network, Run

MB, GB = 1e6, 1e9


def bucket(ready, shape, encode=0.0, exchange=0.0, decode=0.0, route="dense", payload=None):
    dense = 4 * math.prod(shape)
    return Bucket(f"{shape} at {ready}", ready, encode, exchange, decode, route,
                  dense if payload is None else payload, (shape,))


def run(*buckets, before=0.0, ranks=2):
    return Run(ranks, ranks, 10, 1.0, before, list(buckets))


class Predictions(unittest.TestCase):
    def predict(self, run_, text=None, hosts=4, slots=1, rate=1e8, latency=0.0, factor=1.0):
        cost = simulate.recorded(run_) if text is None else simulate.measured(text)
        return simulate.predict(run_, text or simulate.RECORDED, cost, Network(hosts, slots, rate, latency), factor)

    def test_a_dense_bucket_takes_what_the_link_needs(self):
        found = self.predict(run(bucket(0.5, (1000, 1000)), before=0.25), "dense", hosts=2)
        on_link = 4e6 * 8 / 1e8 / FRAMED
        self.assertAlmostEqual(found.step, 0.25 + 0.5 + on_link)
        self.assertAlmostEqual(found.exposed, on_link)
        self.assertAlmostEqual(found.sent, 4e6, delta=1)

    def test_what_the_backward_pass_hides_is_not_exposed(self):
        hidden = self.predict(run(bucket(0.0, (100, 100)), bucket(1.0, (4,))), "dense", rate=1e9)
        self.assertAlmostEqual(hidden.step, 1.0, places=3)

    def test_faster_links_never_predict_slower_steps(self):
        recorded = run(bucket(0.1, (500, 500), encode=0.01), bucket(0.2, (300,), decode=0.01))
        for text in ("dense", "fp16", "int8", "onebit,ef=vanilla", "dgc,density=0.01", "topk,k=0.01"):
            cost = simulate.measured(text)
            steps = [simulate.predict(recorded, text, cost, Network(4, 1, rate, 1e-4)).step
                     for rate in (1e6, 1e7, 1e8, 1e9, 1e10)]
            self.assertEqual(steps, sorted(steps, reverse=True), text)

    def test_what_a_plan_sends_as_fp16_or_int8_is_no_more_than_that(self):
        for route, share in (("drain_fp16", 0.5), ("drain_int8", 0.25)):
            payload = int(4e6 * share)
            found = self.predict(run(bucket(0.0, (1000, 1000), route=route, payload=payload)), hosts=4)
            self.assertAlmostEqual(found.sent, 1.5 * payload, delta=1)

    def test_parts_are_counted_once(self):
        for route in ("drain_int8", "push_pull", "split"):
            recorded = 3 * 250  # To each of three others a quarter of 1,000 bytes.
            self.assertEqual(routes.payload_of(route, recorded, 4), 1000)
            self.assertEqual(routes.sent(route, 4000, recorded, 4, 1), recorded)
            self.assertEqual(routes.sent(route, 4000, recorded, 2, 2), 2 * 2 * 250)  # Two of them are elsewhere.
            self.assertEqual(routes.sent(route, 4000, recorded, 1, 4), 0)
        self.assertEqual(routes.payload_of("gather", 1000, 4), 1000)
        self.assertEqual(routes.sent("gather", 4000, 1000, 4, 1), 3000)

    def test_an_unknown_route_is_named(self):
        with self.assertRaisesRegex(ValueError, "does not predict the route 'servers'"):
            routes.exchanged("servers", 100, 10)

    def test_the_run_s_own_frames_go_to_every_rank(self):
        gathered = run(bucket(0.0, (1000, 1000), decode=0.002, route="gather", payload=5000))
        for hosts in (2, 4, 8):
            found = self.predict(gathered, hosts=hosts)
            self.assertAlmostEqual(found.sent, (hosts - 1) * 5000, delta=1)
            # Each rank adds up all frames.
            self.assertAlmostEqual(found.step, (hosts - 1) * 5000 * 8 / 1e8 / FRAMED + hosts * 0.001)

    def test_ranks_of_a_host_share_its_link(self):
        recorded = run(bucket(0.0, (1000, 1000)))
        alone, shared = self.predict(recorded, "dense", hosts=2), self.predict(recorded, "dense", hosts=2, slots=2)
        self.assertAlmostEqual(shared.sent / alone.sent, 2.0, places=5)

    def test_a_slower_processor_takes_longer_to_encode(self):
        recorded = run(bucket(0.0, (10,), encode=0.1, decode=0.2, route="masked_dense"))
        self.assertAlmostEqual(self.predict(recorded, factor=3.0).step - self.predict(recorded).step, 0.6)

    def test_compressors_send_what_they_say(self):
        recorded = run(bucket(0.0, (1024, 1024)))
        dense = self.predict(recorded, "dense").sent
        self.assertAlmostEqual(self.predict(recorded, "fp16").sent / dense, 0.5, places=5)
        self.assertLess(self.predict(recorded, "dgc,density=0.001").sent, dense / 200)
        # On eight ranks a gather of a quarter each would carry more than a dense array.
        self.assertAlmostEqual(self.predict(recorded, "int8", hosts=8).sent,
                               self.predict(recorded, "dense", hosts=8).sent, delta=1)

    def test_options_that_are_not_understood_are_named(self):
        with self.assertRaisesRegex(ValueError, "nosuch"):
            self.predict(run(bucket(0.0, (10,))), "nosuch")
        with self.assertRaisesRegex(ValueError, "powersgd exchanges twice.*record a run with it"):
            self.predict(run(bucket(0.0, (512, 512))), "powersgd")

    def test_rates_and_times_are_read_as_tc_writes_them(self):
        self.assertEqual([simulate.rate_of(text) for text in ("100mbit", "2.5gbit", "64kbit")],
                         [1e8, 2.5e9, 64e3])
        self.assertEqual(simulate.latency_of("0.5ms"), 0.5e-3)
        for text in ("100", "mbit", "-1gbit", "fast"):
            with self.assertRaisesRegex(Exception, "give a rate such as"):
                simulate.rate_of(text)


def exchanges(seconds_of, sizes, waited=0.0):
    """A rank's exchanges, one after the other; `waited` before the last rank came."""
    now, found = 0, []
    for number, sent in enumerate(sizes):
        end = now + int(1e9 * (waited + seconds_of(sent)))
        found.append(link.Exchange(now, end, sent, f"{number}"))
        now = end + 1_000_000
    return found


class RecordedLink(unittest.TestCase):
    SIZES = [2000 * (1 + i % 10) ** 3 for i in range(40)]

    @staticmethod
    def seconds_of(sent):
        return 0.0005 + sent / 12.5e6

    def fitted(self, *ranks):
        return link.fitted(link.shortest([link.periods(one) for one in ranks]))

    def test_is_fitted_to_exchanges(self):
        found = self.fitted(exchanges(self.seconds_of, self.SIZES))
        self.assertAlmostEqual(found.bytes_per_second / 12.5e6, 1, places=3)
        self.assertAlmostEqual(found.latency, 0.0005, places=5)
        self.assertEqual(found.exchanges, 40)

    def test_a_straggler_does_not_look_like_a_slow_link(self):
        early = exchanges(self.seconds_of, self.SIZES, waited=0.2)
        late = exchanges(self.seconds_of, self.SIZES)
        self.assertEqual(self.fitted(early, late), self.fitted(late))

    def test_disturbed_exchanges_change_little(self):
        disturbed = exchanges(lambda sent: self.seconds_of(sent) * (5 if sent == 2000 * 27 else 1), self.SIZES)
        self.assertAlmostEqual(self.fitted(disturbed).bytes_per_second / 12.5e6, 1, delta=0.05)

    def test_exchanges_at_the_same_time_share_the_link(self):
        both = [link.Exchange(0, 200, 100.0, "a"), link.Exchange(50, 210, 100.0, "b"),
                link.Exchange(300, 400, 100.0, "c")]
        first, second = link.periods(both)
        self.assertEqual((first.buckets, first.sent, first.seconds), (frozenset("ab"), 200.0, 210e-9))
        self.assertEqual((second.buckets, second.sent, second.seconds), (frozenset("c"), 100.0, 100e-9))
        shares = link.shares([first, second])
        self.assertAlmostEqual(shares["a"], 105e-9)
        self.assertAlmostEqual(shares["c"], 100e-9)

    def test_few_exchanges_tell_nothing(self):
        self.assertIsNone(self.fitted(exchanges(self.seconds_of, self.SIZES[:5])))
        self.assertIsNone(self.fitted(exchanges(self.seconds_of, [0] * 40)))

    def test_of_one_size_tell_the_rate_alone(self):
        found = self.fitted(exchanges(lambda sent: sent / 1e6, [1000.0] * 20))
        self.assertEqual(found.latency, 0.0)
        self.assertAlmostEqual(found.bytes_per_second, 1e6, delta=1e3)


class Command(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.log = cls.folder / "run.weirlog"
        subprocess.run([WEIRRUN, "-np", "2", "--record", cls.log, BYTE_LM, "--steps", "12", "--compressor", "dgc",
                        "--density", "0.05", "--quiet"],
                       check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    def call(self, *arguments):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = simulate.main([str(argument) for argument in arguments])
        return code, out.getvalue(), err.getvalue()

    def test_reads_the_steps_of_a_real_run(self):
        recorded = simulate.read(str(self.log))
        self.assertEqual((recorded.ranks, recorded.steps), (2, 10))
        self.assertGreater(len(recorded.buckets), 0)
        ready = [one.ready for one in recorded.buckets]
        self.assertTrue(all(0 <= one <= recorded.step for one in ready), ready)
        for one in recorded.buckets:
            self.assertGreater(one.dense, one.payload)
            self.assertGreater(one.encode, 0)
            self.assertEqual(one.route, "gather")

    def test_the_model_makes_a_step_of_its_parts(self):
        recorded = simulate.read(str(self.log))
        last = max(one.ready + one.encode + one.exchange + one.decode for one in recorded.buckets)
        self.assertGreaterEqual(simulate.check(recorded), recorded.before + last)

    def test_prints_a_table_and_writes_it(self):
        code, out, err = self.call(self.log, "--hosts", "2,4", "--rates", "10mbit,1gbit", "--compression", "fp16",
                                   "--csv", self.folder / "out.csv")
        self.assertEqual(code, 0, err)
        self.assertIn("recorded: 2 ranks on 1 host, 10 steps of", out)
        self.assertEqual(sum(line.startswith("fp16") for line in out.splitlines()), 4)
        with open(self.folder / "out.csv", newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(len(rows), 3 * 4)
        by_way = {row["compression"]: float(row["step_seconds"]) for row in rows
                  if row["hosts"] == "4" and row["bits_per_second"] == "10000000.0"}
        self.assertLess(by_way["as recorded"], by_way["fp16"])
        self.assertLess(by_way["fp16"], by_way["dense"])

    def test_says_what_is_wrong(self):
        code, _, err = self.call(self.folder / "none.weirlog")
        self.assertEqual(code, 1)
        self.assertIn("none.weirlog", err)
        code, _, err = self.call(self.log, "--compression", "dgc,densty=0.1")
        self.assertEqual(code, 1)
        self.assertRegex(err, "^weir-simulate: .*densty")
        other = self.folder / "other.weirlog"
        other.write_bytes(b"nothing")
        code, _, err = self.call(other)
        self.assertEqual(code, 1)
        self.assertIn("is not a run log", err)


if __name__ == "__main__":
    WEIRRUN, BYTE_LM = sys.argv[1:3]
    del sys.argv[1:3]
    unittest.main()
