"""Tests of the parts of benchmarks/python/train_quality.py that need no job: its statistics, its grid
and its file."""

import json
import pathlib
import sys
import tempfile
import unittest
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "benchmarks" / "python"))

import torch  # noqa: E402

import train_quality  # noqa: E402
from train_quality_grid import (  # noqa: E402
    CONFIGS, MODELS, STUDIES, Run, base_of, grid, options_of, rate_of)
from train_quality_models import TASKS, FineTuning, generator_of  # noqa: E402
from train_quality_report import TrainQualityReport  # noqa: E402
from train_quality_statistics import Group, Interval  # noqa: E402
from train_quality_store import Store  # noqa: E402
from train_quality_tables import details  # noqa: E402

try:
    import train_quality_plot
except ImportError:  # Without matplotlib.
    train_quality_plot = None


def found(score, loss=1.0):
    """A rank's results of a run."""
    return {"score": score, "train_loss": loss, "sent": 10, "dense": 100, "seconds": 1.0}


def rows_of(model, config, density, steps, rate, scores, losses=None):
    """{run: row} of seeds 1, 2, ..."""
    losses = losses or [1.0] * len(scores)
    return {Run(model, config, density, rate, steps, seed): found(score, loss)
            for seed, (score, loss) in enumerate(zip(scores, losses), 1)}


class Intervals(unittest.TestCase):
    def test_it_is_student_s_for_the_number_of_seeds(self):
        interval = Interval.of([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
        self.assertEqual(interval.mean, 3.5)
        # 2.5706 (t, 5 degrees of freedom) * 1.8708 / sqrt(6)
        self.assertAlmostEqual(interval.half, 1.9633, places=4)

    def test_one_seed_says_nothing_about_the_spread(self):
        self.assertEqual(Interval.of([0.2]).verdict(1.0), "open")
        self.assertEqual(Interval.of([0.2]).text(), "+0.20")

    def test_a_verdict_needs_the_whole_interval(self):
        self.assertEqual(Interval(0.5, 0.4, 6).verdict(1.0), "within")
        self.assertEqual(Interval(0.5, 0.6, 6).verdict(1.0), "open")
        self.assertEqual(Interval(-0.5, 0.6, 6).verdict(1.0), "open")
        self.assertEqual(Interval(2.0, 0.9, 6).verdict(1.0), "worse")
        self.assertEqual(Interval(-2.0, 0.9, 6).verdict(1.0), "better")
        self.assertAlmostEqual(Interval(-0.5, 0.6, 6).farthest, 1.1)


class Groups(unittest.TestCase):
    PLACE = (0.01, 1000, "high")

    def group(self, model, *, dgc, dense, losses=None):
        rows = {**rows_of(model, "dense", 1.0, 1000, "high", dense),
                **rows_of(model, "dgc", 0.01, 1000, "high", dgc, losses)}
        return Group(model, *self.PLACE, rows)

    def test_differences_are_paired_by_seed(self):
        # What a seed does to both is 100 times what the configuration does.
        group = self.group("lstm", dense=[2.0, 3.0, 4.0], dgc=[2.03, 3.03, 4.03])
        self.assertAlmostEqual(group.line("dgc").worse.mean, 1.0)  # 0.03 of 3, in percent.
        self.assertLess(group.line("dgc").worse.half, 1e-9)

    def test_more_bits_are_worse_and_so_is_less_accuracy(self):
        self.assertAlmostEqual(self.group("demo", dense=[2.0], dgc=[2.2]).line("dgc").worse.mean,
                               10.0)
        self.assertAlmostEqual(self.group("digits", dense=[98.0], dgc=[97.5]).line("dgc").worse.mean,
                               0.5)

    def test_seeds_that_only_one_side_has_are_left_out(self):
        group = self.group("demo", dense=[2.0, 4.0, 9.0], dgc=[2.2, 4.4])
        self.assertEqual(group.line("dgc").worse.count, 2)
        self.assertAlmostEqual(group.line("dgc").worse.mean, 10.0)  # 0.3 of 3.
        group = self.group("demo", dense=[2.0], dgc=[2.2, 4.4])
        self.assertEqual(group.line("dgc").worse.count, 1)

    def test_a_seed_that_diverged_is_counted_and_makes_it_worse(self):
        rows = {**rows_of("demo", "dense", 1.0, 1000, "high", [2.0, 2.0, 2.0]),
                **rows_of("demo", "dgc", 0.01, 1000, "high", [2.0, None, 2.0], [1.0, None, 1.0])}
        line = Group("demo", *self.PLACE, rows).line("dgc")
        self.assertEqual((line.seeds, line.diverged, line.worse.count), (3, 1, 2))
        self.assertIn("| dgc | 3 | 2.000 (1 diverged) | +0.00 ± 0.00 | worse |",
                      details([Group("demo", *self.PLACE, rows)]))

    def test_the_order_of_the_ablation_compares_neighbours(self):
        rows = {}
        for config, loss in (("dense", 1.0), ("dgc", 1.1), ("no-masking", 1.3),
                             ("no-correction", 1.2), ("no-residual", 2.0)):
            density = 1.0 if config == "dense" else 0.01
            rows.update(rows_of("lstm", config, density, 1000, "high", [2.0, 2.0], [loss, loss]))
        report = TrainQualityReport(rows)
        met = {target["name"].partition("loss of ")[2]: target["met"] for target in report.targets}
        self.assertEqual(met, {"no-residual - of no-correction": True,
                               "no-correction - of no-masking": False,
                               "no-masking - of dgc": True, "dgc - of dense": True})
        self.assertIn("no-correction < no-masking (-0.100 ± 0.000)", details(report.groups))
        self.assertIn("| no-correction - no-masking | -0.100 ± 0.000 |", report.markdown())


    def test_adam_s_configurations_are_compared_with_dense_adam(self):
        rows = {**rows_of("demo", "dense-adamw", 1.0, 1000, "tuned", [2.0, 3.0]),
                **rows_of("demo", "outer-int8", 1.0, 1000, "tuned", [2.1, 3.1])}
        group = Group("demo", 0.001, 1000, "tuned", rows)
        self.assertIsNone(group.line("dense-adamw").worse)
        self.assertAlmostEqual(group.line("outer-int8").worse.mean, 4.0)  # 0.1 of 2.5.
        self.assertIn("| outer-int8 | +4.00 ± 0.00 |", TrainQualityReport(rows).markdown())


class Summaries(unittest.TestCase):
    def test_models_and_rates_stand_side_by_side(self):
        rows = {}
        for model, scores in (("lstm", [2.01, 2.01]), ("demo", [2.1, 2.1])):
            for rate in ("low", "high"):
                rows.update(rows_of(model, "dense", 1.0, 1000, rate, [2.0, 2.0]))
                rows.update(rows_of(model, "dgc", 0.01, 1000, rate, scores))
        rows.update(rows_of("demo", "no-masking", 0.01, 1000, "low", [2.2]))
        rows.update(rows_of("demo", "no-masking", 0.01, 1000, "high", [None, 2.0]))
        lines = TrainQualityReport(rows).markdown().splitlines()
        self.assertIn("| configuration | lstm 4, % | lstm 1, % | demo 0.16, % | demo 0.04, % |", lines)
        self.assertIn("| dense | 2.000 | 2.000 | 2.000 | 2.000 |", lines)
        # Bold within the target of 1 %; in brackets the seeds where there are fewer.
        self.assertIn("| dgc | **+0.50 ± 0.00** | **+0.50 ± 0.00** | +5.00 ± 0.00 | "
                      "+5.00 ± 0.00 |", lines)
        self.assertIn("| no-masking |  |  | 1 of 2 diverged | +10.00 (1) |", lines)


class Targets(unittest.TestCase):
    def target(self, model, dense, dgc):
        """Returns (value, met) of DGC at 0.1 %; None if it has no target."""
        rows = {**rows_of(model, "dense", 1.0, 10000, "low", dense),
                **rows_of(model, "dgc", 0.001, 10000, "low", dgc)}
        targets = [target for target in TrainQualityReport(rows).targets
                   if "dgc at 0.1 %" in target["name"]]
        return [(round(target["value"], 3), target["met"]) for target in targets]

    def test_the_interval_s_farther_end_is_held_to_the_model_s_target(self):
        self.assertEqual(self.target("lstm", [2.0, 2.0, 2.0], [2.01, 2.01, 2.01]), [(0.5, True)])
        self.assertEqual(self.target("lstm", [2.0, 2.0, 2.0], [1.96, 1.96, 1.96]), [(2.0, False)])
        # 4.303 (t, 2 degrees of freedom) * 0.4 / sqrt(3) = 0.994 around 0.
        self.assertEqual(self.target("digits", [98.0, 98.0, 98.0], [98.4, 98.0, 97.6]),
                         [(0.994, False)])

    def test_divergence_meets_no_target(self):
        self.assertEqual(self.target("demo", [2.0, 2.0, 2.0], [2.0, None, 2.0]),
                         [(float("inf"), False)])

    def test_nothing_is_said_of_what_was_not_measured(self):
        self.assertEqual(self.target("demo", [2.0, 2.0], []), [])


class Grid(unittest.TestCase):
    def test_runs_are_different_ones_and_each_has_its_dense_partner(self):
        runs = grid(2)
        self.assertEqual(len(set(runs)), len(runs))
        for run in runs:
            self.assertIn(run._replace(config=base_of(run.rate), density=1.0), runs)

    def test_lengths_are_of_a_steps_times_density_of_1_and_10(self):
        for study in STUDIES.values():
            self.assertEqual([round(study.density * steps, 9) for steps in study.lengths], [1, 10])

    def test_only_restricts_by_kind_and_keeps_dense(self):
        runs = grid(6, ["lstm", "high", "long", "paper", "ablation", "dgc"])
        self.assertEqual({(run.model, run.rate) for run in runs}, {("lstm", "high")})
        self.assertEqual({(run.config, run.steps) for run in runs},
                         {("dense", 1000), ("dense", 10000), ("dgc", 1000), ("dgc", 10000)})

    def test_configurations_of_the_ablation_differ_in_what_their_names_say(self):
        def of(config):
            return options_of(Run("lstm", config, 0.01, "high", 1000, 1))
        self.assertEqual(of("no-masking"),
                         {**of("dgc"), "momentum_masking": False})
        self.assertEqual(of("no-residual"), {**of("no-correction"), "ef": "none"})
        without = {key: value for key, value in of("no-correction").items()
                   if key not in ("warmup_steps", "clip_norm")}
        self.assertEqual(of("gradient-dropping"), {**without, "values": "fp32"})
        self.assertEqual(of("no-correction")["warmup_steps"], of("dgc")["warmup_steps"])

    def test_the_model_that_clips_clips_everywhere_but_in_gradient_dropping(self):
        for config in CONFIGS:
            if not CONFIGS[config].clips_outside:  # Those clip outside of Weir, in the benchmark.
                for model in ("digits", "lstm", "demo"):
                    clips = "clip_norm" in options_of(Run(model, config, 0.01, "low", 100, 1))
                    self.assertEqual(clips, model == "lstm" and config != "gradient-dropping")


class Tasks(unittest.TestCase):
    def setUp(self):
        self.addCleanup(setattr, FineTuning, "STEPS", FineTuning.STEPS)
        FineTuning.STEPS = 3

    def test_fine_tuning_begins_with_what_was_learnt_whatever_the_seed(self):
        task = TASKS["tuned-digits"]()
        models = []
        for seed in (1, 2):
            torch.manual_seed(seed)
            models.append(torch.cat([p.flatten() for p in task.model().parameters()]))
        self.assertTrue(torch.equal(*models))
        torch.manual_seed(0)
        fresh = torch.cat([p.flatten() for p in TASKS["digits"]().model().parameters()])
        self.assertFalse(torch.equal(models[0], fresh))

    def test_batches_depend_on_the_generator_alone(self):
        for name, make in TASKS.items():
            task = make()

            def batch(seed, rank):
                return task.batch(generator_of(seed, rank))
            first = batch(1, 0)
            torch.rand(1)  # The global generator goes on.
            for mine, again in zip(first, batch(1, 0)):
                self.assertTrue(torch.equal(mine, again), name)
            for seed, rank in ((1, 1), (2, 0)):
                self.assertFalse(torch.equal(first[0], batch(seed, rank)[0]), name)

    def test_what_is_scored_is_never_trained_on(self):
        digits = TASKS["digits"]()
        train = {tuple(image.flatten().tolist()) for image in digits._train[0]}
        test = {tuple(image.flatten().tolist()) for image in digits._test[0]}
        self.assertEqual((len(train), len(test)), (1198, 599))
        self.assertFalse(train & test)

    def test_ranks_share_the_scoring_without_gap_or_overlap(self):
        for name, make in TASKS.items():
            task = make()
            torch.manual_seed(1)
            model = task.model()
            parts = [task.score(model, rank, 2) for rank in range(2)]
            total, count = task.score(model, 0, 1)
            self.assertEqual(sum(part[1] for part in parts), count, name)
            self.assertAlmostEqual(sum(part[0] for part in parts) / total, 1, places=4)


class Stores(unittest.TestCase):
    RUNS = [Run("digits", config, density, "high", 100, seed) for seed in (1, 2)
            for config, density in (("dense", 1.0), ("dgc", 0.01))]

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "records.json"

    def store(self, ranks=2):
        return Store(self.path, ranks)

    def test_what_was_measured_is_not_missing_any_more(self):
        self.assertEqual(self.store().missing(self.RUNS), self.RUNS)
        self.store().add(self.RUNS[1], found(97.5))
        self.store().add(self.RUNS[2], found(98.0))
        again = self.store()
        self.assertEqual(again.missing(self.RUNS), [self.RUNS[0], self.RUNS[3]])
        row = again.rows()[self.RUNS[1]]
        self.assertEqual((row["score"], row["learning_rate"]), (97.5, rate_of(self.RUNS[1])))

    def test_the_file_is_whole_after_each_run(self):
        store = self.store()
        for count, run in enumerate(self.RUNS, 1):
            store.add(run, found(None))
            self.assertEqual(len(json.loads(self.path.read_text())["rows"]), count)

    def test_a_run_with_other_ranks_is_another_one(self):
        self.store(ranks=4).add(self.RUNS[0], found(97.5))
        self.assertEqual(self.store(ranks=2).missing(self.RUNS), self.RUNS)
        self.store(ranks=2).add(self.RUNS[0], found(96.5))
        self.assertEqual(self.store(ranks=4).rows()[self.RUNS[0]]["score"], 97.5)

    def test_an_empty_file_is_one_without_runs(self):
        self.path.touch()  # scripts/bench does, to see whether it can be written.
        self.assertEqual(self.store().missing(self.RUNS), self.RUNS)

    def test_targets_are_kept_beside_the_runs(self):
        self.store().add(self.RUNS[0], found(97.5))
        self.store().set_targets([{"name": "x"}])
        whole = json.loads(self.path.read_text())
        self.assertEqual((whole["targets"], len(whole["rows"])), ([{"name": "x"}], 1))

    def check_refused(self, *words):
        before = self.path.read_bytes()
        with self.assertRaises(SystemExit) as ended:
            self.store()
        for word in (str(self.path), "delete it, or give another file", *words):
            self.assertIn(word, str(ended.exception))
        self.assertEqual(self.path.read_bytes(), before)

    def test_runs_with_options_of_before_are_not_mixed_with_those_of_now(self):
        self.store().add(self.RUNS[1], found(97.5))
        whole = json.loads(self.path.read_text())
        for key, old in (("options", "compressor=dgc,density=0.5"), ("learning_rate", 0.5)):
            changed = {**whole, "rows": [{**whole["rows"][0], key: old}]}
            self.path.write_text(json.dumps(changed))
            self.check_refused("dgc on digits", key, str(old))

    def test_a_file_of_something_else_is_left_alone(self):
        self.path.write_text('{"name": "slow-network", "rows": []}')
        self.check_refused("slow-network")
        self.path.write_text('{"name": "train-qual')
        self.check_refused()


class Jobs(unittest.TestCase):
    RUNS = Stores.RUNS

    def measure(self, *codes):
        """With jobs that end with these codes: one that fails has finished a run if its code is
        above 1, one that does not has finished all. Returns how many runs each was to make."""
        asked = []

        def job(missing, path, ranks, limit):
            code = codes[len(asked)]
            asked.append(len(missing))
            for run in missing[:{0: len(missing), 1: 0}.get(code, 1)]:
                Store(path, ranks).add(run, found(1.0))
            return code
        with tempfile.TemporaryDirectory() as folder:
            train_quality.measure_missing(self.RUNS, pathlib.Path(folder) / "records.json", 2,
                                          job=job)
        return asked

    def test_a_job_that_fails_is_followed_by_one_for_the_rest(self):
        self.assertEqual(self.measure(137, 137, 0), [4, 3, 2])

    def test_one_that_gets_nowhere_ends_the_benchmark(self):
        with self.assertRaises(SystemExit) as ended:
            self.measure(137, 1)
        self.assertIn("exit code 1 and finished no run", str(ended.exception))

    def test_what_a_job_leaves_out_it_is_not_asked_for_again(self):
        def job(missing, path, ranks, limit):
            return 0
        with tempfile.TemporaryDirectory() as folder:
            train_quality.measure_missing(self.RUNS, pathlib.Path(folder) / "records.json", 2,
                                          job=job)


@unittest.skipIf(train_quality_plot is None, "there is no matplotlib")
class Plots(unittest.TestCase):
    def test_it_names_what_it_shows_and_comes_out_the_same_again(self):
        rows = {}
        for model in ("digits", "lstm"):
            for rate in ("low", "high"):
                rows.update(rows_of(model, "dense", 1.0, 1000, rate, [2.0, 2.1]))
                rows.update(rows_of(model, "dgc", 0.01, 1000, rate, [2.0, 2.2]))
                rows.update(rows_of(model, "no-masking", 0.01, 1000, rate, [None, 9.0]))
        groups = TrainQualityReport(rows).groups
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "plot.svg"
            train_quality_plot.save(groups, path)
            first = path.read_bytes()
            train_quality_plot.save(groups, path)
            self.assertEqual(path.read_bytes(), first)
        text = [element.text for element in xml.etree.ElementTree.fromstring(first).iter()]
        for word in ("dgc", "no-masking", "1 %,", "1,000 steps", "diverged", "low learning rate",
                     "digits, points of accuracy", "lstm, % of bits per byte"):
            self.assertIn(word, text)


if __name__ == "__main__":
    unittest.main()
