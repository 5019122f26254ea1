"""Running a search for terms from the command line, with the tables that are written beside it."""

from pathlib import Path
from typing import TYPE_CHECKING

from truecost.cli.options import Output
from truecost.cli.terms_options import Tables
from truecost.errors import UsageError

if TYPE_CHECKING:
    import polars as pl

    from truecost.study import Outcome, Study

FORMATS = ("csv", "tsv", "parquet", "ndjson")


def execute(study: "Study", output: Output, tables: Tables) -> int:
    """Run a study, write its tables, print what it found; returns the exit code of its gates."""
    from truecost.cli.trials import execute as run

    wanted = {k: v for k, v in vars(tables).items() if v is not None}
    for option, path in wanted.items():
        _check_table(option, path, study)
    if len({Path(path).resolve() for path in wanted.values()}) < len(wanted):
        raise UsageError("--alignment and --per-query name one file: give each its own")
    return run(study, output, lambda outcome: _write(outcome, tables))


def _check_table(option: str, path: str, study: "Study") -> None:
    """Refuse a table that cannot be written, or would take the place of a file that is read."""
    from truecost.cli.writing import files_of_study
    from truecost.formats.sniffing import by_ending
    from truecost.formats.writers import check_target

    name = f"--{option.replace('_', '-')}"
    if by_ending(path) not in FORMATS:
        raise UsageError(
            f"{name} {path}: the ending does not say a table: name a file that ends in "
            f"{', '.join(f'.{kind}' for kind in FORMATS)}"
        )
    if Path(path).is_dir():
        raise UsageError(f"{name} {path}: it is a folder: name a file in it")
    check_target(path, files_of_study(study), force=True)


def _write(outcome: "Outcome", tables: Tables) -> None:
    """The tables that were asked for, all of them or none."""
    from truecost.formats import Table
    from truecost.formats.writers import content_of
    from truecost.publishing import publish
    from truecost.study.searches import alignment_frame, query_frame

    made: dict[str, pl.DataFrame] = {}
    if tables.alignment is not None:
        made[tables.alignment] = alignment_frame(outcome)
    if tables.per_query is not None:
        made[tables.per_query] = query_frame(outcome)
    if made:
        contents = {path: content_of(Table(path, frame), path) for path, frame in made.items()}
        publish({Path(path).resolve(): content for path, content in contents.items()})
