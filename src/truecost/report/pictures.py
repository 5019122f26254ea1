"""Single pictures and the table of a result, for notebooks, papers and other documents."""

import io
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from truecost.core.results import Row
from truecost.core.standing import Standing
from truecost.errors import UsageError
from truecost.formats.publishing import publish
from truecost.names import STANDARD_INPUT
from truecost.pictures.picture import Picture
from truecost.pictures.tables import Table, is_decided, of_pairs, of_values
from truecost.report.story import Story, page_of

if TYPE_CHECKING:
    import polars as pl

    from truecost.study.outcome import Outcome

TABLES = (".tex", ".md", ".csv", ".parquet")


def plot(outcome: "Outcome", name: str = "") -> Picture:
    """A picture of the page of an outcome, by its name or heading; the first one when empty.

    Raises
    ------
    UsageError
        When the page has no such picture; the message lists those that it has.
    """
    return chosen(_story_of(outcome), name)


def first_picture(outcome: "Outcome") -> str:
    """The SVG of the first picture of the page; empty where it has none."""
    return next((picture.svg() for _, picture in drawn(_story_of(outcome))), "")


def _story_of(outcome: "Outcome") -> Story | None:
    if not outcome.parts:
        return None
    page = page_of(outcome.task)
    return Story(outcome.result, page.curves(outcome), page.items(outcome))


def drawn(story: Story | None) -> list[tuple[str, Picture]]:
    """The pictures of a page in their order, each with its heading."""
    if story is None:
        return []
    return [
        (": ".join(filter(None, (section.title, picture.title))), picture)
        for section in story.sections
        for picture in section.pictures
    ]


def chosen(story: Story | None, name: str) -> Picture:
    """The picture of a name, or whose heading begins so, in any case; as `plot`."""
    every = drawn(story)
    if not every:
        raise UsageError(
            "the result of a check has no pictures; results of score, compare, plan, leaderboard "
            "and run have some"
        )
    wanted = name.casefold()
    exact = [p for heading, p in every if wanted in ("", p.name, heading.casefold())]
    found = exact or [p for heading, p in every if heading.casefold().startswith(wanted)]
    if not found:
        known = ", ".join(dict.fromkeys(p.name for _, p in every))
        raise UsageError(f"there is no picture {name!r}: this result has {known}")
    return found[0]


def write_rows(story: Story, target: str) -> None:
    """Write the rows of a result: as they are shown (.tex, .md), values and then comparisons, or in
    full (.csv, .parquet).

    Raises
    ------
    UsageError
        When the ending is another.
    InputError
        When the file cannot be written.
    """
    check_table(target)
    if story.result.leaderboard:
        _write_board(story, target)
        return
    values = [r for r in story.rows if r.kind == "value"]
    shown = [of_values("Values", values, len(values), story.page.naive.column)]
    if pairs := story.pairs:  # bold is what is decided
        told = [difference for difference, _ in pairs]
        best = frozenset(at for at in shown[0].best if is_decided(values[at[0]], told))
        shown = [replace(shown[0], best=best), of_pairs("Differences", pairs, len(pairs))]
    write_table(target, shown, lambda: _frame_of(story.rows))


def _write_board(story: Story, target: str) -> None:
    """The tables that `leaderboard` writes, of a stored one."""
    from truecost.study.outcome import Outcome, Part
    from truecost.study.printing import tables_of

    stored = story.result
    part = Part({}, (), {}, cast("Any", tuple(story.rows)))
    board = Outcome(
        (part,),
        (),
        (),
        task=stored.task,
        configuration=stored.configuration,
        leaderboard=tuple(stored.leaderboard),
    )
    shown = [cast("Any", table).document() for table in tables_of(board)]
    write_table(target, shown, lambda: _frame_of(story.rows, stored.leaderboard))


def check_table(target: str) -> None:
    """Refuse a file for a table before the work: UsageError for its ending, or its folder."""
    path = Path(target)
    if target in STANDARD_INPUT:
        return
    if path.suffix.lower() not in TABLES:
        raise UsageError(
            f"--table {target}: name a file for the table that ends in {', '.join(TABLES)}, or - "
            f"for CSV on standard output"
        )
    if path.is_dir() or not path.absolute().parent.is_dir():
        why = "this is a folder" if path.is_dir() else "there is no such folder"
        raise UsageError(f"--table {target}: {why}; name a file in a folder that exists")


def write_table(target: str, shown: Sequence[Table], full: "Callable[[], pl.DataFrame]") -> None:
    """Write tables: as they are `shown` (.tex, .md), or with all digits (.csv, .parquet, -).

    Raises
    ------
    InputError
        When the file cannot be written.
    """
    kind = Path(target).suffix.lower().removeprefix(".")
    if target in STANDARD_INPUT:
        sys.stdout.write(full().write_csv())
    elif kind == "parquet":
        stream = io.BytesIO()
        full().write_parquet(stream, statistics=False)
        publish({Path(target): stream.getvalue()})
    else:
        text = full().write_csv() if kind == "csv" else "\n".join(t.text(kind) for t in shown)
        publish({Path(target): text})


def _frame_of(rows: Sequence[Row], board: Sequence[Standing] = ()) -> "pl.DataFrame":
    """The rows of a result in full, with where each system stands."""
    import polars as pl

    from truecost.study.printing import ranked, record_of

    dims = dict.fromkeys(name for row in rows for name in row.dims)
    lines = {line.system: line for line in board}
    found = [{**record_of(r, dims), **(ranked(r, lines) if board else {})} for r in rows]
    return pl.DataFrame(found, infer_schema_length=None)
