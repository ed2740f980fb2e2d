"""Parts of the site beside the pages of docs/: both references, and files that pages link to."""

import pathlib

import cpp_pages
import page_text
import outside
import python_pages
from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parents[2]


def on_files(files, config):
    texts = {f"docs/{file.src_uri}": file.content_string for file in files.documentation_pages()}
    made = {
        **python_pages.pages(ROOT / "plugins/python"),
        **cpp_pages.pages(ROOT / "build/doxygen/xml", ROOT),
        **outside.pages(ROOT, texts),
    }
    for page, text in made.items():
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(text, page, config, files):
    if page.is_homepage:
        page.meta["hide"] = ["navigation"]  # It would list this page alone.
    if page.file.src_uri.startswith(("cpp/", "python/")):
        return text
    return page_text.readable(outside.relinked(page.file.src_uri, text))
