"""The library's messages in the words of the command line.

The library speaks of its arguments, ``n_max=5``; at a shell they are options, ``--n-max 5``.
"""

from __future__ import annotations

import re

# Arguments that are options of the same name.
_OPTIONS = (
    *("base", "centre", "coef_bound", "ddof", "expectile", "granularity", "mechanism", "n_max"),
    *("neighbours", "noncrossing", "norm", "quantile", "records_per_person", "sampler", "scale"),
    *("smoothing", "threshold", "weights"),
    # How DATA are read.
    *("separator", "decimal", "thousands", "symbols", "encoding", "rows", "ending"),
    *("table", "query", "rows_per_record", "memory_limit", "threads"),
)
_NAMES = "|".join(_OPTIONS)
# What stands in quotes is the caller's own: a column may be called n_max.
_FREE, _END = r"(?<![\w'\"/.-])", r"(?![\w'\"/]|\.\w)"

_PHRASES = (
    (
        r"Name the columns to use, as in bounds=\{'(.*?)': \(0, 100\)\}",
        r"Name the column with --column, or as in --bounds \1=0:100",
    ),
    (r"bounds=\(0, 100\)", "--bounds 0:100"),
    (r"(where|of)='(.*?)'(?=[.;])", r'--\1 "\2"'),
    (r"levels=\{'(\w+)': \['F', 'M'\]\}", r"--levels \1=F,M"),
    (r"edges=\{'(\w+)': \[0, 18, 65, 120\]\}", r"--edges \1=0,18,65,120"),
    (r"(?<!, )levels=\['F', 'M'\]", "--levels F,M"),
    (r"edges=\[([^]]*)\]", lambda found: f"--edges {found[1].replace(', ', ',')}"),
    (r"levels=\[0, 1\]", "--levels 0,1"),
    (r"other='other'", "--other other"),
    (r"bounds_[Xy]=\(0, 100\)( or \{'age': \(0, 100\)\})?", "--bounds COLUMN=0:100"),
    (
        r"Give bounds as \{column: \(low, high\)\} or one array per end",
        "Name them, as in --bounds x=0:50 --bounds y=0:50",
    ),
    (r"by=\{'(.*?)': \['F', 'M'\]\}", r"--by \1=F,M"),
    (
        r"^by: (.*) Give its levels as texts\.",
        r"--by: \1 Write its levels in single quotes, as in --by \"zip='01','02'\".",
    ),
    (r"^by(?=:| names| must| declares)", "--by"),
    (
        r"With by= the bounds must name their columns, as in bounds=\{'wage': \(0, 100\)\}",
        "With --by the bounds must name their columns, as in --bounds wage=0:100",
    ),
    (r"\b(table|query)=(?=')", r"--\1 "),
    (r"by table=(?=[.,;])", "by --table"),
    (
        r"Load other formats yourself and give the data frame",
        "Convert other formats to Parquet or CSV first",
    ),
    (r"or of a new file for one", "or make one with kng budget create"),
    (r"\bhistory\(\) lists", "kng budget history lists"),
    (r"^sequence must be that of", "--receipt must be the number of"),
    (r"\brun verify\(\)", "run kng budget verify"),
    (r"\bcall Ledger\.(adopt|restore)(\('(.*?)'\))?", r"run kng budget \1 \3"),
    (r" shows in history\(\)", " shows in kng budget history"),
    (r"Use fit_intercept=True", "Leave out --no-intercept"),
    (r"fit_intercept=False", "--no-intercept"),
    (r"coef_bound=None", "no --coef-bound"),
    (r"say (separator|ending)=('.*?')", r"say --\1 \2"),
    (r"Give a file or a data frame", "Give a file"),
    (r"\bkng\.(mean|median|quantile)\b", r"kng \1"),
    (r"Leave out ledger=", "Leave out --ledger"),
    (r"as in table\['age'\] or table\[\['age', 'pay'\]\]", "as in --column age --column pay"),
    # Guesses of a plan.
    (r"^(n|bins|coef|intercept|residual|share|shares|spread|target)(?= must| has \d)", r"--\1"),
    (r"^(bins|present)(?= must| has | is )", r"--\1"),
    (r"\bHuberRegressor\b", "kng huber"),
    (r"\bLinearRegression\b", "kng linear"),
    # Parts are objects of Python; what is left to do at a shell is said before them.
    (r", or (give )?(domain=|a base such as )kng\.\w+\.\w+\([^()]*\)", ""),
    (r", or a norm of kng\.norms(?=;)", ""),
    (_FREE + "bounds_X" + _END, "--bounds"),
    (_FREE + "bounds_y" + _END, "--bounds of the target"),
    (rf"{_FREE}({_NAMES})='?([\w./-]*\w)'?", lambda found: f"{_flag(found[1])} {found[2]}"),
    (rf"{_FREE}({_NAMES}){_END}(?= (must|belongs|means)| names)", lambda found: _flag(found[1])),
    (
        rf"{_FREE}(n_max|records_per_person|rows_per_record|coef_bound){_END}",
        lambda found: _flag(found[1]),
    ),
)


def at_the_shell(message: str) -> str:
    """Return a message with options where the library has arguments."""
    for pattern, words in _PHRASES:
        message = re.sub(pattern, words, message)
    return message


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"
