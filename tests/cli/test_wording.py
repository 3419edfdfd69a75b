"""Messages at the shell: options for arguments, and nothing of the caller's own changed."""

from __future__ import annotations

import pytest

from kng.cli.wording import at_the_shell

PAIRS = {
    "n_max belongs to neighbours='add-remove'; n is public.": (
        "--n-max belongs to --neighbours add-remove; n is public."
    ),
    "release with records_per_person=5.": "release with --records-per-person 5.",
    "Use norm='auto', or coef_bound=None.": "Use --norm auto, or no --coef-bound.",
    "Give coef_bound, or use mechanism='kng'.": "Give --coef-bound, or use --mechanism kng.",
    "state them, as in bounds=(0, 100).": "state them, as in --bounds 0:100.",
    "bounds_X must satisfy low < high.": "--bounds must satisfy low < high.",
    "state it, as in bounds_y=(0, 100).": "state it, as in --bounds COLUMN=0:100.",
    "or scale='bounds'.": "or --scale bounds.",
    "Use HuberRegressor, or kng.median.": "Use kng huber, or kng median.",
    "Leave it out, or give domain=kng.domains.L1Ball(...).": "Leave it out.",
    "base='student' has no scale.": "--base student has no scale.",
    "weights must have one number.": "--weights must have one number.",
    "use noncrossing='predictions'.": "use --noncrossing predictions.",
    "entry 9 is none. history() lists them.": "entry 9 is none. kng budget history lists them.",
}


@pytest.mark.parametrize("message", PAIRS)
def test_arguments_become_options(message):
    assert at_the_shell(message) == PAIRS[message]


@pytest.mark.parametrize(
    "message",
    [
        "s.csv has no column named 'n_max'; it has 'coef_bound', 'bounds_X'.",
        "cannot read '/data/n_max/bounds_y.csv': No such file or directory. Check the path.",
        "/data/coef_bound is a directory or a device. Give the path of a file.",
        "where='pay > 3' names 'pay', which is no column of s.csv. It has 'age', 'sex'.",
        "epsilon must be greater than 0, got 0.",
        "the noise has no scale of its own.",
    ],
)
def test_what_is_the_callers_own_stays(message):
    assert at_the_shell(message) == message
