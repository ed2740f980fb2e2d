"""Links from pages of the site to files of the repository that are not under docs/.

Each such file becomes a page of the site: a Markdown file as it is, another one as a block of code, a
folder as the list of its files. Pages lie under files/, by their path in the repository.
"""

import pathlib
import posixpath
import re

import page_text

LINK = re.compile(r"(!?\[(?:[^\]`]|`[^`]*`)*\]\()([^)\s]+)(\))")
ELSEWHERE = re.compile(r"^(?:[a-z]+:|/|#)")
LANGUAGES = {".h": "cpp", ".cc": "cpp", ".py": "python", ".json": "json", ".yml": "yaml", ".sh": "bash"}
SHOWN_BYTES = 100_000
# For folders with a page of their own.
FOLDERS = {"include/weir": "cpp/index.md"}


def repository_path(page, target):
    """Returns the target of a page's link, from the root of the repository, as is the page's own path."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), target))


def page_of(path):
    """The page of the site for a path of the repository."""
    if path in FOLDERS:
        return FOLDERS[path]
    if path.startswith("docs/"):
        return path[len("docs/"):]
    # A page that is called README would become the front page of its section.
    if posixpath.basename(path) == "README.md":
        return f"files/{path[:-len('README.md')]}about.md"
    return f"files/{path}" if path.endswith(".md") else f"files/{path}.md"


def path_of(page):
    """The path in the repository of a page of the site."""
    path = page[len("files/"):] if page.startswith("files/") else f"docs/{page}"
    return re.sub(r"(^|/)about\.md$", r"\1README.md", path) if page.startswith("files/") else path


def targets(path, text):
    found = []

    def look(lines):
        for _, target, _ in LINK.findall("\n".join(lines)):
            if not ELSEWHERE.match(target):
                found.append(repository_path(path, target.partition("#")[0]))
        return lines

    page_text.by_prose(text, look)
    return found


def relinked(page, text):
    """The page with links to files of the repository made links to their pages."""
    path = path_of(page)

    def change(match):
        before, target, after = match.groups()
        name, hash_sign, anchor = target.partition("#")
        if ELSEWHERE.match(target):
            return match.group(0)
        meant = repository_path(path, name)
        if meant.startswith("docs/") and page == meant[len("docs/"):]:
            return before + hash_sign + anchor + after
        if meant.startswith("docs/") and not page.startswith("files/"):
            return match.group(0)
        relative = posixpath.relpath(page_of(meant), posixpath.dirname(page) or ".")
        return f"{before}{relative}{hash_sign}{anchor}{after}"

    return page_text.by_prose(text, lambda lines: LINK.sub(change, "\n".join(lines)).split("\n"))


def shown(root, path):
    """The text of the page of a file or folder outside docs/; None for one that does not exist."""
    file = root / path
    if file.is_dir():
        names = sorted(child.name for child in file.iterdir())
        return f"# {path}\n\n" + "\n".join(f"* `{name}`" for name in names) + "\n"
    if not file.is_file():
        return None
    text = file.read_text()
    if file.suffix == ".md":
        return text
    cut = ""
    if len(text) > SHOWN_BYTES:
        text, cut = text[:SHOWN_BYTES], "\nThe file goes on in the repository.\n"
    language = LANGUAGES.get(file.suffix, "text")
    head = "---\nsearch:\n  exclude: true\n---\n"
    return f"{head}# {path}\n\n````{language}\n{text.rstrip()}\n````\n{cut}"


def pages(root, texts):
    """Returns {page: text} for links of the texts of docs/, by their paths in the repository, to
    outside it."""
    root, made, waiting = pathlib.Path(root), {}, list(texts.items())
    while waiting:
        path, text = waiting.pop()
        for meant in targets(path, text):
            page = page_of(meant)
            if meant.startswith(("docs/", "..")) or meant in FOLDERS or page in made:
                continue
            body = shown(root, meant)
            if body is not None:
                made[page] = body
                if meant.endswith(".md"):
                    waiting.append((meant, body))
    return made
