"""weir.runlog on the run log of a real job, whole and damaged. Arguments: weirrun, byte-lm."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
import zlib

import numpy

from weir import runlog

STEPS, RANKS = 5, 2
EXCHANGE = runlog.STAGES.index("exchange")


def record(folder, *options, compressor="dgc"):
    """The path of rank 0's log of a short training. `options` are weirrun's."""
    path = pathlib.Path(folder) / "run.weirlog"
    weirrun, byte_lm = sys.argv[1:3]
    subprocess.run([weirrun, "-np", str(RANKS), "--record", path, *options, byte_lm, "--steps", str(STEPS),
                    "--compressor", compressor, "--quiet"], check=True, stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL)
    return path


class Whole(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.log = runlog.read(record(cls.folder.name))

    def test_it_has_every_rank_and_nothing_is_missing(self):
        self.assertEqual(self.log.ranks, list(range(RANKS)))
        self.assertEqual(self.log.damages, [])
        for rank in self.log.ranks:
            self.assertEqual(self.log.lost(rank), 0)
            self.assertEqual((self.log.run(rank)["rank"], self.log.run(rank)["size"]), (rank, RANKS))

    def test_every_rank_says_how_its_clock_stands_to_that_of_rank_0(self):
        # They are on one machine: measured offsets are 0, except for the error.
        for rank in range(RANKS):
            clock = self.log.run(rank)["clock"]
            self.assertLessEqual(abs(clock["offset_to_rank_0_ns"]), clock["error_ns"])
            self.assertEqual(clock["error_ns"] > 0, rank > 0)

    def test_every_step_of_every_rank_is_there_once_and_in_order(self):
        for rank in self.log.ranks:
            steps = self.log.steps(rank)
            self.assertEqual(steps["step"].tolist(), list(range(STEPS)))
            self.assertTrue((steps["start_ns"] < steps["end_ns"]).all())
            self.assertTrue((steps["end_ns"][:-1] <= steps["start_ns"][1:]).all())
            exposed = steps["exposed_communication_ns"] + steps["exposed_compression_ns"]
            self.assertTrue((exposed >= 0).all())
            self.assertTrue((exposed <= steps["end_ns"] - steps["start_ns"]).all())
        self.assertEqual(len(self.log.steps()["rank"]), RANKS * STEPS)

    def test_a_step_s_bytes_are_those_of_its_exchanges(self):
        for rank in self.log.ranks:
            steps, stages = self.log.steps(rank), self.log.stages(rank)
            for step, payload, dense in zip(steps["step"], steps["payload_bytes"],
                                            steps["dense_bytes"]):
                mine = (stages["step"] == step) & (stages["stage"] == EXCHANGE)
                self.assertEqual(stages["bytes_in"][mine].sum(), payload)
                self.assertEqual(stages["bytes_out"][mine].sum(), dense)
                self.assertGreater(dense, 0)

    def test_stages_name_buckets_that_are_described(self):
        for rank in self.log.ranks:
            stages, buckets = self.log.stages(rank), self.log.buckets(rank)
            self.assertLessEqual(set(stages["bucket"].tolist()), set(buckets))
            self.assertIn("dgc", {bucket["compressor"] for bucket in buckets.values()})
            for bucket, route in set(zip(stages["bucket"].tolist(), stages["route"].tolist())):
                self.assertLess(route, len(buckets[bucket]["routes"]))
            self.assertTrue(stages["ok"].all())

    def test_gradients_are_named_and_tell_what_was_sent_of_them(self):
        for rank in self.log.ranks:
            gradients, names = self.log.gradients(rank), self.log.buckets(rank)
            compressed = 0
            for step in range(STEPS):
                mine = gradients["step"] == step
                self.assertEqual(len(set(gradients["gradient"][mine].tolist())), mine.sum())
                self.assertGreater(mine.sum(), 4)
            for number, density, payload in zip(gradients["gradient"], gradients["density"],
                                                gradients["payload_bytes"]):
                self.assertGreater(names[number]["elements"], 0)
                self.assertLessEqual(0.0, density)
                self.assertLessEqual(density, 1.0)
                if density < 1.0:
                    compressed += 1
                    self.assertLess(payload, 4 * names[number]["elements"])
            self.assertGreater(compressed, STEPS)
            self.assertGreater((gradients["residual_ratio"] > 0).sum(), 0)
            self.assertTrue((gradients["start_ns"] < gradients["end_ns"]).all())

    def test_gradients_payloads_add_up_to_no_more_than_the_step_s(self):
        for rank in self.log.ranks:
            steps, gradients = self.log.steps(rank), self.log.gradients(rank)
            for step, payload in zip(steps["step"], steps["payload_bytes"]):
                sent = gradients["payload_bytes"][gradients["step"] == step].sum()
                self.assertGreater(sent, payload // 2)
                self.assertLessEqual(sent, payload)

    def test_the_state_was_looked_at(self):
        for rank in self.log.ranks:
            state = self.log.state(rank)
            self.assertGreater(len(state["time_ns"]), 0)
            self.assertTrue((numpy.diff(state["sent_bytes"].astype(numpy.int64)) >= 0).all())

    def test_what_options_decide_is_a_plan_of_rank_0(self):
        self.assertEqual(self.log.plans(1), [])
        plan, = self.log.plans()
        self.assertEqual((plan["by"], plan["from_step"], plan["settled"]), ("options", 0, True))
        self.assertIn("as told", plan["why"])
        self.assertEqual({bucket["form"] for bucket in plan["buckets"]}, {"dgc"})

    def test_a_frame_is_made_of_the_whole_table(self):
        pandas = unittest.mock.Mock()  # Not worth 60 MB for one call.
        with unittest.mock.patch.dict(sys.modules, pandas=pandas):
            runlog.to_frame(self.log.steps())
        pandas.DataFrame.assert_called_once()
        self.assertEqual(set(pandas.DataFrame.call_args.args[0]), set(self.log.steps()))

    def test_only_what_is_asked_for(self):
        self.assertEqual(set(self.log.stages(1)["rank"].tolist()), {1})
        self.assertEqual(self.log.stages(RANKS), {})


class Planned(unittest.TestCase):
    def test_each_change_of_the_plan_is_there_with_the_step_from_which_it_holds(self):
        with tempfile.TemporaryDirectory() as folder:
            first, = runlog.read(record(folder)).plans()
            buckets = [bucket["name"] for bucket in first["buckets"]]
            file = pathlib.Path(folder) / "plan.json"
            file.write_text(json.dumps({first["group"]: [
                {"from_step": 2, "forms": "d" * len(buckets)}, {"from_step": 4, "forms": "c" * len(buckets)}]}))
            log = runlog.read(record(folder, "--plan-filename", file,
                                     compressor="compressor=dgc,alternatives=[dense,fp16]"))
            plans = log.plans()
        self.assertEqual([plan["from_step"] for plan in plans], [0, 2, 4])
        self.assertEqual([plan["what"] for plan in plans], ["dgc", "dense", "dgc"])
        self.assertEqual({plan["by"] for plan in plans}, {"file"})
        for plan in plans:
            self.assertEqual([bucket["name"] for bucket in plan["buckets"]], buckets)
        self.assertEqual({bucket["form"] for bucket in plans[1]["buckets"]}, {"dense"})
        self.assertEqual(log.plans(1), [])


class Damaged(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            path = record(folder)
            cls.data = path.read_bytes()
            cls.steps = runlog.RunLog([str(path)]).steps(0)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "damaged.weirlog"

    def read(self, data):
        self.path.write_bytes(data)
        return runlog.read(self.path)

    def test_a_file_cut_anywhere_is_read_to_its_last_whole_block(self):
        read = []
        for length in range(1, len(self.data) + 1):
            try:
                log = self.read(self.data[:length])
            except ValueError as error:
                self.assertEqual(read, [], "blocks had been whole before")
                self.assertIn("it has no whole block", str(error))
                continue
            rows = len(log.stages().get("step", ())), len(log.steps().get("step", ()))
            whole = length - sum(damage.bytes for damage in log.damages)
            read.append((whole, rows))
            self.assertLessEqual(len(log.damages), 1)
            numpy.testing.assert_array_equal(log.steps().get("step", []),
                                             self.steps["step"][:rows[1]])
        self.assertEqual(read, sorted(read))
        self.assertEqual(read[-1], (len(self.data), rows))
        self.assertEqual(rows[1], STEPS)

    def test_a_flipped_byte_costs_its_block_and_no_other(self):
        whole = len(list(runlog._blocks(str(self.written(self.data)), [])))
        for at in range(0, len(self.data), 7):
            flipped = bytearray(self.data)
            flipped[at] ^= 0x10
            damages = []
            blocks = list(runlog._blocks(str(self.written(flipped)), damages))
            self.assertEqual(len(blocks), whole - 1 if damages else whole, f"byte {at}")
            # The last 8 bytes of a prefix mean nothing yet.
            self.assertLessEqual(len(damages), 1, f"byte {at}")

    def written(self, data):
        self.path.write_bytes(data)
        return self.path

    def test_what_is_no_run_log_is_refused_by_name(self):
        for data in (b"", b"hello", bytes(100000)):
            with self.assertRaisesRegex(ValueError, "damaged.weirlog is not a run log"):
                self.read(data)

    def test_a_newer_version_is_refused_by_number(self):
        newer = bytearray(self.data[:32])
        newer[4] = 2
        head = self.data[32:32 + int.from_bytes(self.data[8:12], "little")]
        newer[20:24] = zlib.crc32(head, zlib.crc32(bytes(newer[:20]))).to_bytes(4, "little")
        with self.assertRaisesRegex(ValueError, "version 2; this Weir reads version 1"):
            self.read(bytes(newer) + self.data[32:])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
