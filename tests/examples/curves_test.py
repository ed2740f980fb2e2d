"""Curves of trainings as a picture and as text; and scripts/demo-curves, which draws both."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples" / "experiments"))

from curves_svg import svg  # noqa: E402
from curves_text import text  # noqa: E402

FALLING = [(10 * i, 4.0 - 0.1 * i) for i in range(11)]  # To 3 at 100.


def words_of(picture):
    return [node.text for node in xml.etree.ElementTree.fromstring(picture).iter() if node.text]


class Picture(unittest.TestCase):
    def test_a_run_that_diverged_is_left_out(self):
        words = words_of(svg({"dense": [[(1, None), (2, float("nan"))]], "dgc": [[(1, 3.0), (2, None)]]}, "step", "bits"))
        self.assertIn("dgc", words)
        self.assertNotIn("dense", words)

    def test_the_first_points_of_falling_and_of_rising_curves_do_not_set_the_scale(self):
        for falls in (True, False):
            curve = [(x, 100.0 if falls else -100.0) if x == 0 else (x, 1.0 + x) for x in range(21)]
            picture = svg({"a": [curve]}, "step", "value", falls)
            numbers = [float(word.replace(",", "")) for word in words_of(picture)
                       if word.replace(",", "").replace(".", "").lstrip("-").isdigit()]
            self.assertLess(max(map(abs, numbers)), 30)


class Text(unittest.TestCase):
    def rows(self, curves):
        lines = text(curves, "step", "bits", width=21, height=11)
        return lines, [line[10:] for line in lines[1:12]]

    def test_a_falling_curve_goes_from_the_top_left_to_the_bottom_right(self):
        lines, rows = self.rows({"dense": FALLING})
        self.assertTrue(rows[0].startswith("oo"), rows)  # The worst tenth is drawn at the top.
        self.assertEqual(rows[-1].strip(), "o")
        self.assertEqual(len(rows[-1]), 21)
        self.assertEqual(lines[0], "bits: o dense")
        self.assertTrue(lines[-1].endswith("100  step"), lines[-1])

    def test_two_curves_have_two_letters_and_a_third_where_they_meet(self):
        lines, rows = self.rows({"dense": FALLING, "dgc": [(x, y + (0.5 if x > 50 else 0)) for x, y in FALLING]})
        self.assertIn("o dense, x dgc, * both", lines[0])
        drawn = "".join(rows)
        self.assertEqual({"o", "x", "*"}, set(drawn) - {" "})
        self.assertNotIn("o", "".join(row[:10] for row in rows))

    def test_what_has_no_two_points_is_not_drawn(self):
        self.assertEqual(text({"dense": [(1, 3.0)], "dgc": [(1, None), (2, float("nan"))]}, "step", "bits"), [])


class DemoCurves(unittest.TestCase):
    def test_draws_both(self):
        with tempfile.TemporaryDirectory() as folder:
            files = []
            for name in ("dense", "dgc"):
                files.append(pathlib.Path(folder, f"{name}.json"))
                files[-1].write_text(json.dumps({"settings": {"compressor": {"compressor": name}}, "curve": FALLING}))
            picture = pathlib.Path(folder, "new", "demo.svg")
            said = subprocess.run([ROOT / "scripts/demo-curves", "--svg", picture, *files], check=True,
                                  capture_output=True, text=True).stdout
            self.assertIn("o dense, x dgc, * both", said)
            self.assertIn(str(picture), said)
            self.assertTrue({"dense", "dgc"} <= set(words_of(picture.read_text())))

    def test_names_a_file_that_is_no_result(self):
        done = subprocess.run([ROOT / "scripts/demo-curves", "--svg", "x.svg", "absent.json"], check=False,
                              capture_output=True, text=True)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("absent.json", done.stderr)


if __name__ == "__main__":
    unittest.main()
