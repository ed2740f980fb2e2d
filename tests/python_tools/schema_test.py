"""Answers of a running job's ranks follow docs/reference/monitoring.schema.json. Arguments: weirrun,
byte-lm."""

import json
import pathlib
import sys
import unittest
import urllib.request

import jsonschema
from job import Job

SCHEMA = json.loads((pathlib.Path(__file__).resolve().parents[2] / "docs" / "reference"
                     / "monitoring.schema.json").read_text(encoding="utf-8"))
RANKS = 2


def check(answer, kind):
    jsonschema.Draft202012Validator({"$ref": f"#/$defs/{kind}", **SCHEMA}).validate(answer)


def get(url):
    with urllib.request.urlopen(url, timeout=20) as reply:
        return reply.read().decode()


class Schema(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        jsonschema.Draft202012Validator.check_schema(SCHEMA)
        cls.job = Job(cls, RANKS)
        cls.job.until(lambda: '"stage":"step"' in get(f"{cls.job.url}/events?wait=1"))

    def test_who_runs(self):
        for rank in range(RANKS):
            run = json.loads(get(f"http://127.0.0.1:{self.job.port + rank}/run"))
            check(run, "run")
            self.assertEqual(run["rank"], rank)
            self.assertIn("hosts", run)

    def test_the_targets(self):
        targets = json.loads(get(f"{self.job.url}/targets"))
        check(targets, "targets")
        self.assertEqual(len(targets), RANKS)

    def test_every_event(self):
        after, stages = 0, set()
        for _ in range(5):
            head, *events = map(json.loads, get(f"{self.job.url}/events?after={after}&wait=5").splitlines())
            check(head, "events_head")
            self.assertGreater(len(events), 0)
            for event in events:
                check(event, "event")
                stages.add(event["stage"])
            after = head["next"]
        self.assertLessEqual({"queue", "compress", "exchange", "merge", "step", "gradient", "residual"},
                             stages)

    def test_the_schema_refuses_what_is_not_of_it(self):
        event = json.loads(get(f"{self.job.url}/events").splitlines()[1])
        for wrong in ({**event, "stage": "lunch"}, {**event, "start_ns": -1}, {**event, "more": 1},
                      {key: value for key, value in event.items() if key != "ok"}):
            with self.assertRaises(jsonschema.ValidationError):
                check(wrong, "event")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
