"""The directive `reference`: the public names of a package with their docstrings, as they are.

Docstrings here are plain text in numpydoc's sections, not reStructuredText: |f|^2 is a formula and
weights_ a name. So they are read by `sections` and turned into nodes without a second parser.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from typing import Any

from docutils import nodes
from fences import fenced
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

HEADING = re.compile(r"^(\w[\w ]*)\n-{3,}$", re.MULTILINE)
LISTS = ("Parameters", "Attributes", "Returns", "Raises", "Yields", "See Also")


class Reference(SphinxDirective):
    """The names in its body, of the package in its argument."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return a section for each name."""
        package = self.arguments[0]
        module = importlib.import_module(package)
        return [self._entry(package, name, getattr(module, name)) for name in self.content if name]

    def _entry(self, package: str, name: str, thing: Any) -> nodes.section:
        full = f"{package}.{name}"
        section = nodes.section(ids=[full], names=[full])
        section += nodes.title(text=name)
        self.env.domains["py"].note_object(
            full,
            "class" if inspect.isclass(thing) else "function",
            full,
            location=self.get_location(),
        )
        section += _signature(full, thing)
        documented = callable(thing) or inspect.ismodule(thing)
        section += described(inspect.getdoc(thing) or "" if documented else "")
        if inspect.isclass(thing):
            section += _methods(thing)
        return section


def _signature(full: str, thing: Any) -> nodes.literal_block:
    return nodes.literal_block(
        text=f"{full}{_arguments(thing)}", language="python", classes=["signature"]
    )


def _arguments(thing: Any) -> str:
    """Return the parameters with their defaults; their types are in the text."""
    if not callable(thing):
        return ""
    try:
        found = inspect.signature(thing)
    except (TypeError, ValueError):
        return "(...)"
    bare = [p.replace(annotation=inspect.Parameter.empty) for p in found.parameters.values()]
    text = str(found.replace(parameters=bare, return_annotation=inspect.Signature.empty))
    text = re.sub(r"<class '([^']*)'>", r"\1", text)
    return re.sub(r"<[^<>]*>", "...", text)


def _methods(thing: type) -> list[nodes.Node]:
    """Return a list of the public methods that the class has of its own, with their first lines."""
    items = nodes.definition_list()
    for name, value in vars(thing).items():
        function = getattr(value, "__func__", value)
        doc = inspect.getdoc(function) if not name.startswith("_") else None
        if doc and (inspect.isroutine(function) or isinstance(value, property)):
            term = nodes.term("", "", nodes.literal(text=name))
            items += nodes.definition_list_item("", term, nodes.definition("", *paragraphs(doc)))
    return [nodes.rubric(text="Methods and properties"), items] if len(items) else []


def described(doc: str) -> list[nodes.Node]:
    """Return a docstring as nodes."""
    found: list[nodes.Node] = []
    for title, text in sections(doc):
        if title:
            found.append(nodes.rubric(text=title))
        found += _fields(text) if title in LISTS else paragraphs(text)
    return found


def sections(doc: str) -> Iterator[tuple[str, str]]:
    """Yield the titles and texts of a docstring, the first one without a title."""
    parts = HEADING.split(doc)
    yield "", parts[0].strip("\n")
    yield from zip(parts[1::2], (text.strip("\n") for text in parts[2::2]), strict=True)


def paragraphs(text: str) -> list[nodes.Node]:
    """Return paragraphs, examples and formulas, which are indented."""
    found: list[nodes.Node] = []
    for block in re.split(r"\n\s*\n", text.strip("\n")):
        if block.startswith(">>>"):
            found.append(nodes.literal_block(text=block, language="pycon"))
        elif block.startswith(" ") or "\n  " in block:
            found.append(nodes.literal_block(text=inspect.cleandoc(block), language="text"))
        elif block:
            found.append(nodes.paragraph("", "", *_inline(block)))
    return found


def _fields(text: str) -> list[nodes.Node]:
    items = nodes.definition_list()
    for block in re.split(r"\n(?=\S)", text):
        head, _, body = block.partition("\n")
        name, _, kind = head.partition(" : ")
        term = nodes.term("", "", nodes.literal(text=name), nodes.Text(f"  {kind}" if kind else ""))
        definition = nodes.definition("", *paragraphs(inspect.cleandoc(body)))
        items += nodes.definition_list_item("", term, definition)
    return [items]


def _inline(text: str) -> list[nodes.Node]:
    """Return text whose `words` are literals."""
    parts = re.split(r"`+([^`]+)`+", " ".join(text.split()))
    return [nodes.literal(text=p) if k % 2 else nodes.Text(p) for k, p in enumerate(parts) if p]


def _fence(app: Sphinx, name: str, source: list[str]) -> None:
    # The empty line that ends an example is for doctest alone.
    source[0] = fenced(source[0]).replace("\n\n```\n", "\n```\n")


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directive, and fences about the examples of pages that have none."""
    app.add_directive("reference", Reference)
    app.connect("source-read", _fence)
    return {"parallel_read_safe": True, "version": "1"}
