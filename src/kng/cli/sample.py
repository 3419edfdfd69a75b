"""``kng sample``: real records to try the commands on."""

from __future__ import annotations

import click

from kng.cli.help import command


@command(epilog="\b\nkng sample visits.csv")
@click.argument("file")
def sample(file: str) -> None:
    """Write the records of kng demo to a new CSV file.

    20,190 yearly records of 5,912 people in the RAND Health Insurance Experiment, in the public
    domain. Columns: person, year, age, coinsurance, visits, spending.
    """
    from importlib.resources import files
    from pathlib import Path

    from kng.core.errors import SpecError

    path = Path(file)
    if path.suffix.lower() != ".csv":
        raise SpecError(f"FILE must end in .csv, got {file!r}.")
    content = (files("kng.cli") / "doctor_visits.csv").read_bytes()
    try:
        with path.open("xb") as new:
            try:
                new.write(content)
                new.flush()
            except OSError:
                path.unlink(missing_ok=True)  # half a file would be taken for the whole
                raise
    except FileExistsError:
        raise SpecError(f"{file} exists already. Choose another name.") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a file name"
        raise SpecError(f"cannot write {file}: {reason}. Choose another place.") from None
    click.echo(f"Wrote {file}: 20,190 records of 5,912 people, at most five of each. Try:")
    click.echo(
        f"  kng median {file} --column spending --bounds 0:5000 --granularity 0.01 \\\n"
        "      --records-per-person 5 --epsilon 0.5"
    )
