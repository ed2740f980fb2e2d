"""Types of options that benchmarks share: errors are reported before minutes of measuring."""

import argparse
import importlib.util
import re


def list_of(known):
    """Type for some of the known words, separated by commas."""
    def parse(text):
        for word in text.split(","):
            if word not in known:
                raise argparse.ArgumentTypeError(f"{word}: known are {', '.join(known)}")
        return text.split(",")
    return parse


def rate(text):
    if text != "none" and not re.fullmatch(r"\d+(\.\d+)?[kmg]bit", text):
        raise argparse.ArgumentTypeError(f"{text}: give 100mbit, say, or none")
    return text


def rates(text):
    return [rate(word) for word in text.split(",")]


def count(text):
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text}: give a whole number from 1")
    return int(text)


def plot_file(text):
    if importlib.util.find_spec("matplotlib") is None:
        raise argparse.ArgumentTypeError("needs matplotlib; scripts/setup --for check installs it")
    return text
