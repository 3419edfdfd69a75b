"""``kng predict``: predictions from a stored release."""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import StringIO
from math import isnan
from typing import TYPE_CHECKING, Any

import click

from kng.cli.help import command
from kng.cli.options import option
from kng.cli.tables import DATA, READING
from kng.cli.verbosity import VERBOSITY

if TYPE_CHECKING:
    import kng
    from kng.data.engine import Block, Blocks
    from kng.estimators.stored_model import StoredModel

    Write = Callable[[str], None]


@command(
    epilog="\b\nkng linear visits.csv --target spending --bounds age=0:100 "
    "--bounds spending=0:5000 --epsilon 1 --out model.json\n"
    "kng predict model.json new-visits.csv --keep id --out predictions.csv"
)
@click.argument("receipt", metavar="RECEIPT")
@DATA
@option(
    "--keep",
    metavar="A,B",
    help="Columns to copy in front of the predictions, such as an id.",
)
@option("--out", metavar="FILE", help="Write to a new file, not to standard output.")
@READING
@VERBOSITY
def predict(receipt: str, **options: Any) -> None:
    """Predict from the receipt of a regression.

    RECEIPT is what --out has written. The output is CSV: a row for each record of DATA, in the
    order of the file. Several quantiles have a column each, classes a column of probabilities
    each. A record with a missing cell has an empty prediction.

    Nothing is charged, because the release is paid for. But a prediction for a private record tells
    about that record: it may stay with whoever holds the records, and is not to be published.
    """
    from kng.cli.receipt import ReceiptFile
    from kng.cli.tables import read_table
    from kng.data.engine import Asked
    from kng.data.positions import positions_of
    from kng.data.registry import open_table
    from kng.estimators.stored_model import StoredModel

    model = StoredModel.of(_stored(receipt))
    table = read_table(options)
    kept = _kept(options, table)
    engine = open_table(table)
    assert engine is not None  # a path or an address
    covariates = positions_of(engine, model.covariates, len(model.covariates))
    copied = positions_of(engine, kept, len(kept), numbers=0) if kept else ()
    asked = Asked(covariates, copied)
    engine.prepare(asked)
    if not kept and hasattr(engine, "keep_order"):
        engine.keep_order()
    out = options["out"]
    with _standard_output() if out is None else ReceiptFile(out) as file:
        file.append(_line([*kept, *model.outputs]))

        def written(blocks: Blocks) -> None:
            for block in blocks:
                file.append(_rows(model, block))

        for _ in engine.run(asked, written):
            pass


class _Output:
    """Standard output, whose failures are told."""

    def append(self, text: str) -> None:
        sys.stdout.write(text)


@contextmanager
def _standard_output() -> Iterator[_Output]:
    from kng.core.errors import SpecError

    try:
        yield _Output()
        sys.stdout.flush()
    except OSError as error:
        raise SpecError(f"standard output could not be written ({error.strerror}).") from None


def _stored(path: str) -> kng.Release:
    """Read the release that a file holds."""
    from pathlib import Path

    from kng.core.errors import SpecError
    from kng.core.release import Release

    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a text file"
        raise SpecError(f"cannot read the receipt {path} ({reason}). Check the path.") from None
    try:
        return Release.from_json(text)
    except SpecError:
        raise SpecError(
            f"RECEIPT {path} is not a receipt. Give the file that --out has written."
        ) from None


def _kept(options: dict[str, Any], table: kng.Table) -> list[str]:
    """Return the columns to copy; a database has no order, so something must tell its rows."""
    from kng.core.errors import SpecError

    if options["keep"] is not None:
        return next(csv.reader([options["keep"]]), [])
    if table.query is not None or table.table is not None or "://" in str(table.source):
        raise SpecError(
            "--keep is missing: the rows of a database have no order, so name a column that tells "
            "whose a prediction is, as in --keep id."
        )
    return []


def _rows(model: StoredModel, block: Block) -> str:
    """Return a block of records as lines of CSV."""
    import numpy as np

    cells = np.concatenate([table.T for table in block.numbers]).T
    predictions = model.predict(cells).tolist()
    texts = [column.to_pylist() for column in block.texts]
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for at, row in enumerate(predictions):
        copied = [_text(column[at]) for column in texts]
        writer.writerow([*copied, *("" if isnan(value) else repr(value) for value in row)])
    return out.getvalue()


def _line(cells: list[str]) -> str:
    out = StringIO()
    csv.writer(out, lineterminator="\n").writerow(cells)
    return out.getvalue()


def _text(cell: bytes | None) -> str:
    return "" if cell is None else cell.decode("utf-8", "replace")
