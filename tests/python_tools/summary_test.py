"""weirrun's summary of an ended job. Arguments: weirrun, byte-lm, doomed_rank."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import jsonschema

WEIRRUN, BYTE_LM, DOOMED_RANK = sys.argv[1:4]
SCHEMA = json.loads((pathlib.Path(__file__).resolve().parents[2] / "docs" / "reference"
                     / "summary.schema.json").read_text(encoding="utf-8"))
STEPS = 20


class Summary(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "summary.json"

    def launch(self, *words, program=(BYTE_LM, "--steps", str(STEPS), "--compressor", "dgc", "--quiet")):
        done = subprocess.run([WEIRRUN, *map(str, words), *program], text=True, capture_output=True,
                              check=False, timeout=600, stdin=subprocess.DEVNULL)
        lines = [line for line in done.stderr.splitlines() if line.startswith("weirrun: ")]
        return done, lines

    def summary(self):
        found = json.loads(self.path.read_text(encoding="utf-8"))
        jsonschema.Draft202012Validator.check_schema(SCHEMA)
        jsonschema.Draft202012Validator(SCHEMA).validate(found)
        return found

    def test_a_job_ends_with_what_its_steps_took_and_sent(self):
        done, lines = self.launch("-np", "2", "--summary-filename", self.path)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(lines[0], rf"^weirrun: {STEPS} steps: \S+ [mu]?s each \(median; mean \S+ [mu]?s\), \S+ [mu]?s at most "
                                   r"in 95 %; exposed communication \S+ %, exposed compression \S+ % of the mean step; "
                                   r"\S+ samples/s$")
        self.assertRegex(lines[1], r"^weirrun: sent \S+ [kMG]?B for gradients, where dense all-reduce would "
                                   r"have sent \S+ [kMG]?B: \S+ times as much$")
        self.assertRegex(lines[2], r"^weirrun: slowest: rank [01] on localhost, ")
        found = self.summary()
        self.assertEqual((found["exit_code"], found["ranks"], found["steps"]), (0, 2, STEPS))
        # byte-lm says that each rank takes 32 in a step.
        self.assertAlmostEqual(found["samples_per_second"],
                               sum(32 / rank["step_seconds"]["mean"] for rank in found["by_rank"]), places=3)
        self.assertEqual([(rank["rank"], rank["steps"]) for rank in found["by_rank"]],
                         [(0, STEPS), (1, STEPS)])
        for rank in found["by_rank"]:
            self.assertEqual(rank["lost_records"], 0)
            self.assertLessEqual(rank["step_seconds"]["median"], rank["step_seconds"]["p95"])
            # With 2 ranks each sends its payload once, plus negotiation.
            self.assertGreaterEqual(rank["sent_bytes"], rank["payload_bytes"])
        self.assertEqual(found["sent_bytes"], sum(rank["sent_bytes"] for rank in found["by_rank"]))
        self.assertEqual(found["dense_allreduce_bytes"],
                         sum(rank["uncompressed_bytes"] for rank in found["by_rank"]))
        self.assertGreater(found["dense_allreduce_bytes"], found["sent_bytes"])

    def test_dense_steps_send_what_a_dense_all_reduce_sends(self):
        self.launch("-np", "2", "--summary-filename", self.path,
                    program=(BYTE_LM, "--steps", str(STEPS), "--compressor", "dense", "--quiet"))
        found = self.summary()
        self.assertAlmostEqual(found["sent_bytes"] / found["dense_allreduce_bytes"], 1, delta=0.02)
        self.assertTrue(all(rank["exposed_compression_ratio"] == 0 for rank in found["by_rank"]))

    def test_of_a_job_that_fails_it_says_what_was_known(self):
        done, lines = self.launch("-np", "3", "--flight-recording", "none", "--summary-filename", self.path,
                                  program=(DOOMED_RANK, "1", "dgc", "kill"))
        self.assertEqual(done.returncode, 137)
        # Survivors may be a step behind the rank that died in step 5.
        self.assertRegex(lines[0], r"^weirrun: [45] steps: ")
        self.assertTrue(lines[-1].startswith("weirrun: rank 1 on localhost: signal 9"), "what ended it is last")
        found = self.summary()
        self.assertEqual((found["exit_code"], found["ranks"]), (137, 3))
        self.assertEqual([rank["rank"] for rank in found["by_rank"]], [0, 2])
        self.assertIn("no_figures", [warning["kind"] for warning in found["warnings"]])

    def test_no_summary_says_nothing(self):
        done, lines = self.launch("-np", "2", "--no-summary")
        self.assertEqual((done.returncode, lines), (0, []))

    def test_a_file_without_a_summary_is_refused(self):
        done, _ = self.launch("-np", "2", "--no-summary", "--summary-filename", self.path)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--no-summary", done.stderr)
        self.assertFalse(self.path.exists())

    def test_a_file_that_cannot_be_written_is_refused_before_the_job(self):
        done, _ = self.launch("-np", "2", "--summary-filename", self.path.parent / "none" / "s.json")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertRegex(done.stderr, r"--summary-filename: cannot write '.*s.json': No such file")

    def test_a_job_without_steps_has_none_and_leaves_no_file(self):
        self.path.write_text("an earlier job's")
        done, lines = self.launch("-np", "2", "--summary-filename", self.path, program=("true",))
        self.assertEqual(done.returncode, 0)
        self.assertEqual(lines, [f"weirrun: no {self.path}: no rank has taken a step of Weir's"])
        self.assertFalse(self.path.exists())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
