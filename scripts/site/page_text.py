"""Syntax in pages of docs/ that Python-Markdown reads differently from other renderers."""

import re

FENCE = re.compile(r"^\s*```")
ITEM = re.compile(r"^(?:[*+-]|\d+\.) ")
INDENTED_ITEM = re.compile(r"^ {1,3}(?:[*+-]|\d+\.) ")


def by_prose(text, change):
    """The text with `change` applied to the runs of lines that are not in a fenced block."""
    done, run, inside = [], [], False
    for line in text.split("\n"):
        if FENCE.match(line):
            if not inside:
                done += change(run)
                run = []
            inside = not inside
            done.append(line)
        elif inside:
            done.append(line)
        else:
            run.append(line)
    return "\n".join(done + change(run))


def lists_apart(lines):
    """An empty line before a list, and four spaces before the items of an inner one."""
    found, in_list = [], False
    for line in lines:
        if ITEM.match(line):
            if found and found[-1].strip() and not in_list:
                found.append("")
            in_list = True
        elif in_list and INDENTED_ITEM.match(line):
            line = "    " + line.lstrip()
        elif line.strip() and not line.startswith(" ") and found and not found[-1].strip():
            in_list = False
        found.append(line)
    return found


def comments_apart(lines):
    """An empty line after a comment of one line, so that a fenced block may follow it."""
    found = []
    for line in lines:
        found.append(line)
        if re.match(r"^<!-- .* -->$", line):
            found.append("")
    return found


def readable(text):
    return by_prose(text, lambda lines: comments_apart(lists_apart(lines)))
