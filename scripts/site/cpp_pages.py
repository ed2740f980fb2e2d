"""Pages of the C++ reference, one for each public header, from the XML that Doxygen makes."""

import dataclasses
import pathlib
import re
import xml.etree.ElementTree as ElementTree

HEADERS = pathlib.Path(__file__).resolve().parents[2] / "include"
HIDDEN = {"private", "protected", "package"}


@dataclasses.dataclass
class Entry:
    """A declaration in a header. `members` has the members of a class."""

    node: ElementTree.Element
    line: int
    name: str
    kind: str
    members: list


class Reference:
    def __init__(self, xml, root):
        self.root, self.places, self.headers, self.briefs = root, {}, {}, {}
        index = ElementTree.parse(xml / "index.xml").getroot()
        for compound in index.iter("compound"):
            kind = compound.get("kind")
            node = ElementTree.parse(xml / f"{compound.get('refid')}.xml").getroot().find("compounddef")
            if kind in ("class", "struct"):
                self.add_class(node, kind)
            elif kind == "namespace":
                for member in members_of(node):
                    self.add_member(member)
            elif kind == "file":
                self.briefs[node.find("location").get("file")] = node
        for entries in self.headers.values():
            entries.sort(key=lambda entry: entry.line)

    def add(self, node, kind, name, members):
        location = node.find("location")
        header = location.get("file")
        entry = Entry(node, int(location.get("line")), name, kind, members)
        self.headers.setdefault(header, []).append(entry)
        self.places[node.get("id")] = (page_of(header), anchor(name))
        return header

    def add_class(self, node, kind):
        name = node.findtext("compoundname").removeprefix("weir::")
        members = sorted(members_of(node), key=line_of)
        header = self.add(node, kind, name, members)
        for member in members:
            self.places[member.get("id")] = (page_of(header), anchor(f"{name}::{member.findtext('name')}"))

    def add_member(self, member):
        self.add(member, member.get("kind"), member.findtext("name"), [])

    # Pages.

    def page(self, header):
        parts = [f"# {header}\n", f"```cpp\n#include \"{header}\"\n```\n", self.text(self.briefs.get(header))]
        for _, together in groups(self.headers[header], lambda entry: entry.node):
            parts.append(self.section([entry for entry in together]))
        return "\n".join(parts)

    def section(self, entries):
        first = entries[0]
        parts = [f"\n## {escaped(first.name)} {{ #{anchor(first.name)} }}\n", places(entry.name for entry in entries)]
        if first.kind in ("class", "struct"):
            parts += [code([class_head(first)]), self.text(first.node)]
            parts.append(self.fields(first))
            parts += self.functions(first)
        elif first.kind == "enum":
            parts += [code([f"enum class {first.name}"]), self.text(first.node), self.values(first.node)]
        else:
            parts += [code([declaration(entry.node) for entry in entries]), self.text(first.node)]
        return "\n".join(part for part in parts if part)

    def fields(self, entry):
        rows = [f"| {place(entry.name + '::' + member.findtext('name'))}`{declaration(member).rstrip(';')}` "
                f"| {self.cell(member)} |"
                for member in entry.members if member.get("kind") == "variable"]
        return "\n".join(["\n| member | |", "|---|---|", *rows, ""]) if rows else ""

    def values(self, node):
        rows = [f"| `{value.findtext('name')}` | {self.cell(value)} |" for value in node.findall("enumvalue")]
        return "\n".join(["\n| value | |", "|---|---|", *rows, ""])

    def functions(self, entry):
        shown = [member for member in entry.members if member.get("kind") != "variable" and is_shown(member)]
        taken = set()
        for name, together in groups(shown, lambda member: member):
            # Overloads with comments of their own: links lead to the first.
            place_name = anchor(f"{entry.name}::{together[0].findtext('name')}")
            own = "" if place_name in taken else f" {{ #{place_name} }}"
            taken.add(place_name)
            yield f"\n### {escaped(name)}{own}\n"
            yield places(f"{entry.name}::{member.findtext('name')}" for member in together)
            yield code([declaration(member) for member in together])
            if together[0].get("kind") == "enum":
                yield self.values(together[0])
            yield self.text(together[0])

    # Text of comments.

    def cell(self, node):
        # Doxygen ends each brief comment with a full stop.
        text = re.sub(r"([,;:])\.$", r"\1", self.text(node).strip())
        return re.sub(r"\s*\n\s*", " ", text).replace("|", "\\|")

    def text(self, node):
        if node is None:
            return ""
        found = []
        for part in ("briefdescription", "detaileddescription"):
            for paragraph in node.findall(f"{part}/*"):
                found.append(self.block(paragraph))
        return "\n".join(found)

    def block(self, node):
        """A paragraph, and the blocks of code and lists that Doxygen puts inside of one."""
        if node.tag != "para":
            raise ValueError(f"a comment has <{node.tag}>, which cpp_pages.py does not know")
        blocks, line = [], self.words(node.text)
        for child in node:
            if child.tag in ("verbatim", "preformatted"):
                blocks += [line.strip(), code([text_of(child).strip("\n")])]
                line = ""
            elif child.tag in ("itemizedlist", "orderedlist"):
                items = ["* " + self.block(item.find("para")).strip() for item in child]
                blocks += [line.strip(), "\n".join(items)]
                line = ""
            else:
                line += self.inline(child)
            line += self.words(child.tail)
        return "\n\n".join(part for part in [*blocks, line.strip()] if part) + "\n"

    def inline(self, node):
        if node.tag == "computeroutput":
            return f"`{text_of(node)}`"
        if node.tag == "ref":
            place = self.places.get(node.get("refid"))
            return f"[{escaped(text_of(node))}]({place[0]}#{place[1]})" if place else escaped(text_of(node))
        if node.tag in ("emphasis", "bold"):
            return f"*{escaped(text_of(node))}*"
        if node.tag in SIGNS:
            return SIGNS[node.tag]
        raise ValueError(f"a comment has <{node.tag}>, which cpp_pages.py does not know")

    def words(self, text):
        """Text, in which mentioned pages of docs/ become links."""
        def link(match):
            exists = (self.root / match.group(0)).is_file()
            return f"[{match.group(0)}](../{match.group(1)})" if exists else match.group(0)

        return re.sub(r"docs/\s?([\w/-]+\.md)", link, escaped(text or ""))


SIGNS = {"ndash": "–", "mdash": "—", "linebreak": "<br>", "nonbreakablespace": " "}


def text_of(node):
    return "".join(node.itertext())


def escaped(text):
    return re.sub(r"([*_\[\]`])", r"\\\1", text.replace("&", "&amp;").replace("<", "&lt;"))


def anchor(name):
    return name.replace("::", "-").replace("~", "not-").replace(" ", "-")


def place(name):
    return f'<a id="{anchor(name)}"></a>'


def places(names):
    """Targets of links to names without a heading of their own: the first one's."""
    others = list(dict.fromkeys(names))[1:]
    return "".join(place(name) for name in others) + "\n" if others else ""


def page_of(header):
    return header.rpartition("/")[2].removesuffix(".h").replace("_", "-") + ".md"


def line_of(node):
    return int(node.find("location").get("line"))


def members_of(node):
    return [member for member in node.iter("memberdef")
            if member.get("prot") not in HIDDEN and member.get("kind") != "friend"]


def is_documented(node):
    return any(text_of(part).strip() for part in
               node.findall("briefdescription") + node.findall("detaileddescription"))


def is_shown(member):
    """True if a reader needs it: not if it is deleted, nor for a destructor without a comment."""
    arguments = member.findtext("argsstring") or ""
    if arguments.replace(" ", "").endswith("=delete"):
        return False
    return is_documented(member) or not member.findtext("name").startswith("~")


def is_right_below(first, second):
    """True if two declarations of a header have no empty line between them."""
    lines = (HEADERS / second.find("location").get("file")).read_text().splitlines()
    between = lines[line_of(first):line_of(second) - 1]
    return line_of(first) < line_of(second) and all(line.strip() for line in between)


def groups(items, node_of):
    """Functions that share a comment: a documented one, and those right below it without one."""
    found, last = [], None
    for item in items:
        node = node_of(item)
        joins = (last is not None and node.get("kind") == "function" and last.get("kind") == "function"
                 and not is_documented(node) and is_right_below(last, node))
        if joins:
            found[-1][1].append(item)
            if node.findtext("name") not in found[-1][0].split(", "):
                found[-1] = (f"{found[-1][0]}, {node.findtext('name')}", found[-1][1])
        else:
            found.append((node.findtext("name") or "", [item]))
        last = node
    return found


def code(lines):
    return "```cpp\n" + "\n".join(lines) + "\n```\n"


def tidy(text):
    text = re.sub(r"<\s+", "<", re.sub(r"\s+>", ">", " ".join(text.split())))
    return re.sub(r"(\w[&*])(\w)", r"\1 \2", re.sub(r"\s+([&*])", r"\1", text))


def class_head(entry):
    bases = ", ".join(f"{base.get('prot')} {tidy(text_of(base))}" for base in entry.node.findall("basecompoundref"))
    return f"{entry.kind} {entry.name}" + (f" : {bases}" if bases else "")


def parameters(node):
    found = []
    for parameter in node.findall("param"):
        words = tidy(text_of(parameter.find("type"))) if parameter.find("type") is not None else ""
        name, default = parameter.findtext("declname"), parameter.find("defval")
        words += f" {name}" if name else ""
        words += f" = {tidy(text_of(default))}" if default is not None else ""
        found.append(words.strip())
    return found


def declaration(node):
    kind, name = node.get("kind"), node.findtext("name")
    type_words = tidy(text_of(node.find("type"))) if node.find("type") is not None else ""
    if kind == "enum":
        return f"enum class {name}"
    if kind == "typedef":
        return f"using {name} = {type_words};"
    start = "static " if node.get("static") == "yes" else ""
    start += "virtual " if node.get("virt") in ("virtual", "pure-virtual") else ""
    start += f"{type_words} " if type_words else ""
    if kind != "function":
        value = tidy(text_of(node.find("initializer"))) if node.find("initializer") is not None else ""
        return f"{start}{name} {value}".strip() + ";"
    end = " const" if node.get("const") == "yes" else ""
    arguments = parameters(node)
    line = f"{start}{name}({', '.join(arguments)}){end};"
    if len(line) <= 80:
        return line
    return f"{start}{name}(\n    " + ",\n    ".join(arguments) + f"){end};"


def pages(xml, root):
    reference = Reference(xml, root)
    made, rows = {}, []
    for header in sorted(reference.headers):
        made[f"cpp/{page_of(header)}"] = reference.page(header)
        classes = [entry.name for entry in reference.headers[header] if "::" not in entry.name]
        names = ", ".join(f"[{escaped(name)}]({page_of(header)}#{anchor(name)})" for name in dict.fromkeys(classes))
        rows.append(f"| [{header}]({page_of(header)}) | {names} |")
    made["cpp/index.md"] = "\n".join([
        "# C++ reference\n",
        "Every public header, as it says of itself. All names are in the namespace `weir`.\n",
        "| header | declares |", "|---|---|", *rows, ""])
    return made
