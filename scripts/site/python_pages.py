"""Pages of the Python package: its public names, which mkdocstrings shows with their docstrings.

Names are read from the sources; nothing is imported, and the extension is not needed.
"""

import griffe

# Page, module, purpose.
MODULES = [
    ("weir-torch", "weir.torch", "Weir for PyTorch: `import weir.torch as hvd`."),
    ("weir-torch-elastic", "weir.torch.elastic", "Training that goes on after an error."),
    ("weir", "weir", "`weir.run`, and the errors."),
    ("weir-runlog", "weir.runlog", "The reader of run logs."),
]
KINDS = ["Functions", "Classes", "Errors", "Constants"]


def is_error(item):
    return any(base.name.endswith(("Error", "Exception", "Interrupt")) for base in item.mro()) or any(
        str(base).endswith(("Error", "Exception")) for base in item.bases)


def kind_of(item):
    if item.is_module:
        return None
    if item.is_class:
        return "Errors" if is_error(item) else "Classes"
    return "Functions" if item.is_function else "Constants"


def is_public(module, name, member):
    if name.startswith("_"):
        return False
    # Among imported names the package's own count, and those of other packages do not.
    return not member.is_alias or member.target_path.startswith("weir.")


def names(module):
    found = {kind: [] for kind in KINDS}
    for name, member in sorted(module.members.items()):
        if not is_public(module, name, member):
            continue
        kind = kind_of(member.final_target if member.is_alias else member)
        if kind is not None:
            found[kind].append(name)
    return found


def page(module_name, module):
    parts = [f"# {module_name}\n", module.docstring.value if module.docstring else ""]
    for kind, members in names(module).items():
        if members:
            parts.append(f"\n## {kind}\n")
            parts += [f"\n::: {module_name}.{member}\n" for member in members]
    return "\n".join(parts)


def pages(search_path):
    package = griffe.load("weir", search_paths=[search_path], allow_inspection=False)
    made, rows = {}, []
    for file, module_name, what in MODULES:
        inside = module_name.partition(".")[2]
        made[f"python/{file}.md"] = page(module_name, package[inside] if inside else package)
        rows.append(f"| [{module_name}]({file}.md) | {what} |")
    made["python/index.md"] = "\n".join([
        "# Python reference\n", "Every public name of the package, with its docstring.\n",
        "| module | |", "|---|---|", *rows, ""])
    return made
