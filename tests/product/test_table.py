"""Every cell of the product is accepted, or refused in the sentence that the table has."""

from __future__ import annotations

from product.cells import every_cell
from product.chosen import cover, pairs_of
from product.table import PATH, accepted_cells, recorded, written


def test_the_table_is_what_the_library_says():
    """PYTHONPATH=tests python -m product.table records it anew; read the difference."""
    assert written().splitlines() == PATH.read_text(encoding="utf-8").splitlines()


def test_the_table_names_every_cell():
    assert set(recorded()) == set(every_cell())


def test_a_refusal_names_the_parts_and_what_to_use():
    text = PATH.read_text(encoding="utf-8")
    sentences = [line.split("  ", 1)[1] for line in text.splitlines() if line[:1].isdigit()]
    assert sentences
    for sentence in sentences:
        assert sentence.endswith(".")
        assert "use ," not in sentence


def test_the_cover_holds_every_pair():
    cells = accepted_cells()
    found = cover(cells)
    assert set().union(*map(pairs_of, found)) == set().union(*map(pairs_of, cells))
    assert len(found) < len(cells) / 10
