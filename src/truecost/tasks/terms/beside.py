"""Tables of a search for terms that are written beside its result."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from truecost.errors import UsageError

if TYPE_CHECKING:
    import polars as pl

    from truecost.study.config import Study
    from truecost.study.outcome import Outcome

FORMATS = ("csv", "tsv", "parquet", "ndjson")


def beside(study: "Study", wanted: Mapping[str, str]) -> "Callable[[Outcome], None] | None":
    """What writes the tables that are wanted from an outcome; None where none is.

    Raises
    ------
    UsageError
        When a table cannot be written, or would take the place of a file that is read.
    """
    for option, path in wanted.items():
        _check_table(option, path, study)
    if len({Path(path).resolve() for path in wanted.values()}) < len(wanted):
        raise UsageError("--alignment and --per-query name one file: give each its own")
    return partial(_write, wanted=wanted) if wanted else None


def _check_table(option: str, path: str, study: "Study") -> None:
    """Refuse a table that cannot be written, or would take the place of a file that is read."""
    from truecost.formats.declared import WRITTEN
    from truecost.formats.sniffing import by_ending
    from truecost.formats.writers import check_target
    from truecost.study.given_paths import files_of_study

    name = f"--{option.replace('_', '-')}"
    if by_ending(path, WRITTEN) not in FORMATS:
        raise UsageError(
            f"{name} {path}: the ending does not say a table: name a file that ends in "
            f"{', '.join(f'.{kind}' for kind in FORMATS)}"
        )
    if Path(path).is_dir():
        raise UsageError(f"{name} {path}: it is a folder: name a file in it")
    check_target(path, files_of_study(study), force=True)


def _write(outcome: "Outcome", wanted: Mapping[str, str]) -> None:
    """The tables that were asked for, all of them or none."""
    from truecost.formats import Table
    from truecost.formats.publishing import publish
    from truecost.formats.writers import content_of
    from truecost.tasks.terms.searches import alignment_frame, query_frame

    made: dict[str, pl.DataFrame] = {}
    if "alignment" in wanted:
        made[wanted["alignment"]] = alignment_frame(outcome)
    if "per_query" in wanted:
        made[wanted["per_query"]] = query_frame(outcome)
    if made:
        contents = {path: content_of(Table(path, frame), path) for path, frame in made.items()}
        publish({Path(path).resolve(): content for path, content in contents.items()})
