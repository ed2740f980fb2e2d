"""Docstrings that name arguments line by line ("name: text") get them as a list."""

import re

import griffe

ARGUMENT = re.compile(r"^(\w+(?:, \w+)*): (.*)")


def listed(docstring, parameters):
    found, before = [], ""
    for line in docstring.split("\n"):
        match = ARGUMENT.match(line)
        if match and set(match.group(1).split(", ")) <= parameters:
            if before and not before.startswith(("* ", "    ")):
                found.append("")
            line = f"* **{match.group(1)}**: {match.group(2)}"
        found.append(line)
        before = line
    return "\n".join(found)


class Arguments(griffe.Extension):
    def on_function(self, *, func, **_):
        if func.docstring:
            func.docstring.value = listed(func.docstring.value, {parameter.name for parameter in func.parameters})
