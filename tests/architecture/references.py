"""What documents and docstrings refer to: dotted names, paths and links, and whether they exist."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from urllib.parse import unquote

from architecture.sources import CHECKOUT, ROOT

# Folders of the checkout; a path that begins with one of them is a path from its top.
TOPS = ("src", "tests", "docs", "benchmarks")

# A file of the user's, neither a module nor a path of the checkout.
_USERS = "kng.toml"
_NAME = re.compile(r"(?<![\w./@-])kng(?!\.toml\b)(?:\.[A-Za-z_]\w*)+")
_FILE = re.compile(r"[\w*-]+(?:/[\w.*-]+)*\.(?:py|md|json|csv|png|svg|toml)|[\w-]+(?:/[\w-]+)*/")
_FROM_TOP = re.compile(rf"(?<![\w./-])(?:{'|'.join(TOPS)})(?:/[\w*-]+(?:\.[\w*-]+)*)+/?")
_CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_LINK = re.compile(r"\]\(([^()\s]+)\)")
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def documents() -> dict[str, str]:
    """Return the text of each document that speaks of the tree as it is, by its path."""
    paths = [CHECKOUT / "README.md", CHECKOUT / "CONTRIBUTING.md", *CHECKOUT.glob("docs/**/*.md")]
    return {p.relative_to(CHECKOUT).as_posix(): p.read_text(encoding="utf-8") for p in paths}


def proved(text: str) -> list[str]:
    """Return the names that a note says it proves."""
    found = re.match(r"proves: (.+)", text)
    return [] if found is None else [name.strip() for name in found[1].split(",")]


def names(text: str) -> set[str]:
    """Return the dotted names of the package that a text mentions."""
    return set(_NAME.findall(text))


def paths(text: str) -> set[str]:
    """Return the paths from the top of the checkout that a text mentions."""
    return set(_FROM_TOP.findall(text))


def quoted_paths(text: str) -> set[str]:
    """Return the paths that a document puts in backticks, wherever they begin."""
    found = {code for code in _CODE.findall(_FENCE.sub("", text)) if _FILE.fullmatch(code)}
    return found - {_USERS}


def links(text: str) -> set[str]:
    """Return the links of a document that stay in the checkout."""
    found = _LINK.findall(_FENCE.sub("", text))
    return {link for link in found if not re.match(r"[a-z]+:", link)}


def is_name(name: str) -> bool:
    """Tell whether a dotted name is a module, or something in one."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        module = ".".join(parts[:cut])
        try:
            found: object = importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name is not None and (module + ".").startswith(error.name + "."):
                continue
            raise
        return _holds(found, parts[cut:])
    return False


def _holds(found: object, attributes: list[str]) -> bool:
    """Follow attributes; a field without a default is an annotation of its class."""
    for i, attribute in enumerate(attributes):
        if not hasattr(found, attribute):
            kinds = getattr(found, "__mro__", ())
            fields = {name for kind in kinds for name in vars(kind).get("__annotations__", ())}
            return attribute in fields and i == len(attributes) - 1
        found = getattr(found, attribute)
    return True


def is_path(path: str) -> bool:
    """Tell whether a path from the top of the checkout, or a pattern, is there."""
    return any(True for _ in CHECKOUT.glob(path.rstrip("/")))


def is_quoted_path(path: str) -> bool:
    """Tell whether a path is there; a document that speaks of one room may leave out its name."""
    starts = (ROOT, CHECKOUT / "tests", CHECKOUT / "docs")
    anywhere = (True for start in starts for _ in start.glob(f"**/{path.rstrip('/')}"))
    return is_path(path) or any(anywhere)


def is_link(link: str, document: str) -> bool:
    """Tell whether a link of a document leads to a file, and to a heading of it."""
    path, _, heading = unquote(link).partition("#")
    target = (CHECKOUT / document).parent / path if path else CHECKOUT / document
    if not target.exists():
        return False
    return not heading or heading in set(_anchors(target.read_text(encoding="utf-8")))


def _anchors(text: str) -> Iterator[str]:
    """Yield the anchors of a document's headings as GitHub makes them."""
    for heading in re.findall(r"^#+ (.+)$", _FENCE.sub("", text), flags=re.MULTILINE):
        yield re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")
