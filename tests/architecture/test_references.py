"""Every name, path and link in the documents and docstrings leads somewhere."""

from __future__ import annotations

import pytest
from architecture.references import (
    documents,
    is_link,
    is_name,
    is_path,
    is_quoted_path,
    links,
    names,
    paths,
    proved,
    quoted_paths,
)
from architecture.sources import texts

DOCUMENTS = documents()
MODULES = texts()


@pytest.mark.parametrize("note", [path for path in DOCUMENTS if path.startswith("docs/proofs/")])
def test_a_proof_names_what_there_is(note: str) -> None:
    assert proved(DOCUMENTS[note]), "the first line of a proof is 'proves: ' and names"
    assert [name for name in proved(DOCUMENTS[note]) if not is_name(name)] == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_a_document_refers_to_what_there_is(document: str) -> None:
    text = DOCUMENTS[document]
    lost = [name for name in names(text) if not is_name(name)]
    lost += [path for path in paths(text) if not is_path(path)]
    lost += [path for path in quoted_paths(text) if not is_quoted_path(path)]
    lost += [link for link in links(text) if not is_link(link, document)]
    assert lost == []


def test_code_refers_to_what_there_is() -> None:
    lost = {
        path: [
            *(name for name in names(text) if not is_name(name)),
            *(name for name in paths(text) if not is_path(name)),
        ]
        for path, text in MODULES.items()
    }
    assert {path: found for path, found in lost.items() if found} == {}


def test_there_is_much_to_look_at() -> None:
    together = "\n".join(DOCUMENTS.values())
    assert sum(len(proved(text)) for text in DOCUMENTS.values()) > 100
    assert len(names(together)) > 50
    assert len(paths(together)) > 20
    assert len(quoted_paths(together)) > 20
    assert sum(len(links(text)) for text in DOCUMENTS.values()) > 50


@pytest.mark.parametrize("name", ["kng.mean", "kng.core.bits", "kng.Release.integers"])
def test_what_exists_is_found(name: str) -> None:
    assert is_name(name)


@pytest.mark.parametrize(
    "name", ["kng.means", "kng.core.bit", "kng.core.bits.Bitz", "kng.core.bits.SystemBits.give"]
)
def test_a_wrong_name_is_not_found(name: str) -> None:
    assert not is_name(name)


def test_a_wrong_path_or_link_is_not_found() -> None:
    assert is_path("src/kng/core/*.py")
    assert not is_path("src/kng/core/bit.py")
    assert is_quoted_path("bits.py")
    assert not is_quoted_path("core/bit.py")
    assert is_link("../README.md", "docs/README.md")
    assert not is_link("README.md#no-such-heading", "README.md")
    assert not is_link("READYOU.md", "README.md")


def test_references_are_found_in_text() -> None:
    text = (
        "proves: kng.a.B, kng.c\n\nSee `kng.core.bits`, kng.mean(x) and tests/core/test_bits.py.\n"
        "`losses/` and `core/x.py`, [here](y.md#z) or [there](https://a.b).\n"
        "```\n`core/no.py` [no](no.md)\n```\n"
    )
    assert proved(text) == ["kng.a.B", "kng.c"]
    assert names(text) == {"kng.a.B", "kng.c", "kng.core.bits", "kng.mean"}
    assert paths(text) == {"tests/core/test_bits.py"}
    assert quoted_paths(text) == {"losses/", "core/x.py"}
    assert links(text) == {"y.md#z"}
