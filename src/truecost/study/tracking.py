"""Results in an experiment tracker: `Outcome.log(mlflow)`.

MLflow takes letters, digits, `_`, `-`, `.`, `:`, `/` and blanks in the names of metrics; it refuses
`=` and `@`, among others, and names of more than 250 characters.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from truecost.core.results import Row
from truecost.errors import UsageError, need

if TYPE_CHECKING:
    from truecost.study.outcome import Outcome

FOLDER = "truecost"  # of the artifacts
ENDS = ("value", "lower", "upper")
LONGEST = 250 - len("/value") - len("_999")
WORDS = {"<=": " le ", ">=": " ge ", "==": " eq ", "!=": " ne ", "<": " lt ", ">": " gt ", "=": " "}
OTHER = re.compile(r"[^\w\-.: ]", re.ASCII)


def log(outcome: "Outcome", tracker: Any = None) -> None:
    """Log value, lower and upper of each row as metrics; tables and page as artifacts.

    Parameters
    ----------
    tracker : module or object, optional
        `mlflow`, or what has its `log_metrics` and `log_artifacts`; `mlflow` when left out (extra
        `tracking`). The active run takes it, or a new one.

    Raises
    ------
    UsageError
        When the tracker has none of these.
    MissingExtraError
        When none is given and MLflow is not installed.
    """
    tracker = need("mlflow", "tracking") if tracker is None else tracker
    lacking = [n for n in ("log_metrics", "log_artifacts") if not hasattr(tracker, n)]
    if lacking:
        raise UsageError(f"{tracker!r} has no {' and no '.join(lacking)}: give the module mlflow")
    tracker.log_metrics(metrics_of(outcome.rows))
    with TemporaryDirectory() as place:
        folder = outcome.save(Path(place) / FOLDER)
        outcome.to_csv(folder / "table.csv")
        (folder / "table.md").write_text(outcome.to_markdown(), encoding="utf-8")
        (folder / "table.tex").write_text(outcome.to_latex(), encoding="utf-8")
        tracker.log_artifacts(str(folder), artifact_path=FOLDER)


def metrics_of(rows: Sequence[Row]) -> dict[str, float]:
    """Values and ends of intervals by name; what is undefined is left out.

    Examples
    --------
    >>> from truecost.study.tracking import name_of
    >>> name_of("act_dcf", ["network", "subset snr<=10"])
    'act_dcf/network/subset snr le 10'
    """
    return {
        f"{name}/{end}": value
        for name, row in _named(rows)
        for end in ENDS
        if (value := getattr(row, end)) is not None
    }


def _named(rows: Sequence[Row]) -> Iterator[tuple[str, Row]]:
    """Each row with its name: `act_dcf/network`; those that would have one name are numbered."""
    taken: dict[str, int] = {}
    for row in rows:
        about = [text if dim == "system" else f"{dim} {text}" for dim, text in row.dims.items()]
        if row.baseline is not None:
            about = [f"{row.kind} from {row.baseline}", *about]
        name = name_of(row.label, about)
        taken[name] = taken.get(name, 0) + 1
        yield name if taken[name] == 1 else f"{name}_{taken[name]}", row


def name_of(label: str, about: Sequence[str]) -> str:
    """A name that MLflow takes, and that is a path as it stands."""
    return "/".join(map(_part, (label, *about)))[:LONGEST].rstrip("/. ")


def _part(text: str) -> str:
    """One part of a name."""
    for mark, word in WORDS.items():
        text = text.replace(mark, word)
    return " ".join(OTHER.sub("_", text).split()).strip(".") or "_"
