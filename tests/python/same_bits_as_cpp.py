"""DGC through torch gives the bits of DGC through the C++ plugin, on the same gradients.

usage: same_bits_as_cpp.py LAUNCHER RANKS DGC_STEPS   (the program of programs/dgc_steps.cc)
"""

import pathlib
import subprocess
import sys
import tempfile

import numpy

HERE = pathlib.Path(__file__).resolve().parent
CASES = [
    ("vanilla", "density=0.01", "warmup_steps=12", "min_elements=0"),
    ("nesterov", "density=0.05", "min_elements=100", "clip_norm=4.0"),
    ("vanilla", "density=0.1", "values=fp16", "momentum_masking=false", "min_elements=0"),
]


def main(launcher, ranks, program):
    def launch(*command):
        subprocess.run([launcher, "-np", ranks, *command], check=True)

    with tempfile.TemporaryDirectory() as folder:
        def file(language, number):
            return str(pathlib.Path(folder) / f"{language}{number}")

        for number, case in enumerate(CASES):
            launch(program, file("cpp", number), *case)
        # All in one program: importing torch takes longer than its steps.
        launch(sys.executable, str(HERE / "programs" / "dgc_steps.py"),
               *(" ".join((file("torch", number), *case)) for number, case in enumerate(CASES)))
        for number, case in enumerate(CASES):
            compare(ranks, case, *(numpy.fromfile(file(language, number), dtype=numpy.uint32)
                                   for language in ("cpp", "torch")))


def compare(ranks, case, cpp, torch):
    if len(cpp) == 0 or len(set(cpp)) < 100:
        sys.exit(f"{case}: the C++ program gave nothing to compare")
    if not numpy.array_equal(cpp, torch):
        first = int(numpy.argmax(cpp != torch)) if len(cpp) == len(torch) else "?"
        sys.exit(f"{case} at {ranks} ranks: value {first} of {len(cpp)} ({len(torch)}) differs")
    print(f"{case} at {ranks} ranks: {len(cpp)} values have the same bits")


main(*sys.argv[1:])
