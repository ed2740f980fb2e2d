"""docs/reference/pytorch.md, numpy.md and jax.md, made from the package's own docstrings.

usage: reference_page.py FILE   (writes the page of that name)
"""

import inspect
import pathlib
import re
import sys

import weir
import weir.numpy
import weir.torch as hvd
from weir.torch._optimizer import step

HEAD = """# weir.torch

Every public name, its arguments, and the first words of its docstring; `help(hvd.NAME)` shows the rest: shapes,
units, errors. Names and meanings are Horovod's; [from Horovod](../how-to/from-horovod.md) tells the differences.
Functions are thread-safe unless they say otherwise.
"""
HEAD_OF_NUMPY = """# weir.numpy

For [loops over arrays](../how-to/from-numpy.md) of NumPy or CuPy. Every public name, its arguments, and the first words
of its docstring; `help(wn.NAME)` shows the rest. Names and meanings are those of [weir.torch](pytorch.md).
"""
HEAD_OF_JAX = """# weir.jax

For [programs of JAX](../how-to/from-jax.md). Every public name, its arguments, and the first words of its docstring;
`help(wj.NAME)` shows the rest. Names and meanings are those of [weir.torch](pytorch.md).
"""
TAIL = """
This page is generated from the docstrings; a test compares the two.
"""


def groups(module=hvd, without=()):
    """Public names by kind, in alphabetical order."""
    found = {"Functions": [], "Classes": [], "Errors": [], "Constants": []}
    for name, value in sorted(vars(module).items()):
        if name.startswith("_") or inspect.ismodule(value) or name in without:
            continue
        if inspect.isclass(value):
            kind = "Errors" if issubclass(value, Exception) else "Classes"
        else:
            kind = "Functions" if callable(value) else "Constants"
        found[kind].append((name, value))
    return found


def signature(name, value):
    # Types are in the source; here they would hide the names.
    arguments = []
    for parameter in inspect.signature(value).parameters.values():
        shown = str(parameter.replace(annotation=inspect.Parameter.empty))
        shown = re.sub(r"<class '[\w.]*?(\w+)Compressor'>", lambda m: "Compression." +
                       m.group(1).lower(), shown)
        shown = re.sub(r"<[\w.]*ProcessSet object[^>]*>", "global_process_set", shown)
        arguments.append(shown)
    return f"{name}({', '.join(arguments)})"


def bound_signature(name, method):
    """As it is called on an object."""
    return signature(name, method).replace("(self, ", "(").replace("(self)", "()")


def first_sentence(value):
    text = " ".join((inspect.getdoc(value) or "").split("\n\n")[0].split())
    return text.replace("``", "`").replace("|", "\\|")


def methods(value):
    """Public methods of one of our classes and of its bases that are ours."""
    names = {name for base in value.__mro__ if base.__module__.startswith("weir.")
             for name in vars(base) if not name.startswith("_")}
    return [(name, getattr(value, name)) for name in sorted(names)
            if inspect.isfunction(getattr(value, name))]


def row(kind, name, value):
    shown = name if kind == "Errors" or name == "Compression" else signature(name, value)
    text = first_sentence(value)
    if kind == "Classes":
        listed = ", ".join(f"`{bound_signature(method, function)}`" for method, function in methods(value))
        text += f" Methods: {listed}." if listed else ""
    return f"| `{shown}` | {text} |"


def section(members_by_kind, level):
    parts = []
    for kind, members in members_by_kind.items():
        if not members:
            continue
        parts.append(f"\n{level} {kind}\n")
        if kind == "Constants":
            parts.append(", ".join(f"`{name}`" + (f" = {value}" if isinstance(value, int) else "")
                                   for name, value in members) + "\n")
            continue
        parts.append(f"| {'name' if kind == 'Errors' else 'call'} | |\n|---|---|")
        parts += [row(kind, name, value) for name, value in members]
        parts.append("")
    return parts


def optimizer():
    """What an optimizer has besides the methods of the one that it wraps."""
    rows = []
    for name, value in sorted(vars(step.Distributed).items()):
        if name.startswith("_") or not value.__doc__:
            continue
        shown = name if isinstance(value, property) else bound_signature(name, value)
        rows.append(f"| `{shown}` | {first_sentence(value)} |")
    return ["\n## The optimizer\n",
            "What `DistributedOptimizer` returns has the methods of the optimizer that it wraps, and:\n",
            "| member | |\n|---|---|", *rows, ""]


def in_one(parts):
    return "\n".join(parts).replace("\n\n\n", "\n\n").replace("\n\n\n", "\n\n") + TAIL


def page_of_torch():
    elsewhere = [name for name, _ in groups()["Errors"]] + ["TYPE_CHECKING"]
    return in_one([HEAD, *section(groups(), "##"), *optimizer(),
                   "\n## weir.torch.elastic\n", inspect.getdoc(hvd.elastic).split("\n\n")[-1] + "\n",
                   *section(groups(hvd.elastic), "###"),
                   "\n## weir\n", *section(groups(weir, without=elsewhere), "###")])


def page_of_numpy():
    return in_one([HEAD_OF_NUMPY, *section(groups(weir.numpy), "##")])


def page_of_jax():
    import weir.jax

    return in_one([HEAD_OF_JAX, *section(groups(weir.jax), "##")])


PAGES = {"pytorch.md": page_of_torch, "numpy.md": page_of_numpy, "jax.md": page_of_jax}


if __name__ == "__main__":
    target = pathlib.Path(sys.argv[1])
    target.write_text(PAGES[target.name](), encoding="utf-8")
