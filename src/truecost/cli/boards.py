"""Leaderboards as tables: the board, the subsets below it, and measures without a column."""

import tomllib
from collections.abc import Sequence
from dataclasses import replace

from truecost.cli.tables import Columns, values
from truecost.core.digits import figures, scale_of, uncertain
from truecost.core.flags import marks
from truecost.core.standing import Standing
from truecost.study import Outcome


def standings_table(outcome: Outcome) -> Columns:
    """A leaderboard: rank, possible ranks, the measure, whether a system may be the best, the
    difference from the first, and the values of other measures that were asked for; a narrow screen
    leaves the last of these out first.
    """
    from truecost.pictures.boards import chance_of_best

    board = outcome.leaderboard
    first = ("rank", "place", "system", board[0].measure, "interval", "may be best")
    names = (*first, "from first", "from first CI")
    rows = tuple(
        (
            str(s.rank),
            "" if s.place_lower is None else f"{s.place_lower}-{s.place_upper}",
            *(s.system, *figures(s)),
            chance_of_best(s),
            *_from_first(s),
        )
        for s in board
    )
    best = frozenset((k, board[0].measure) for k, s in enumerate(board) if s.rank == 1)
    spare = ("from first CI", "from first", "place", "may be best")
    table = Columns(names, rows, spare=spare, best=best)
    notes = [", ".join(marks(["alone"])) if s.alone else "" for s in board]
    for label, found in _asked_beside(outcome).items():
        table = _with_column(table, label, [found[s.system] for s in board])
        table = replace(table, spare=(label, *table.spare))
    return _with_column(table, "note", notes) if any(notes) else table


def subsets_below(outcome: Outcome) -> list[Columns]:
    """The ranking measure in each subset, in the order of the board; none without subsets."""
    main = outcome.leaderboard[0].measure
    rows = [row for row in outcome.estimates if row.label == main and "subset" in row.dims]
    return [values(rows)] if rows else []


def beside_board(outcome: Outcome, table: Columns, output: str | None) -> str:
    """A note on where to find measures without a column; empty when all have one."""
    from truecost.report.words import listed

    labels = dict.fromkeys(row.label for row in outcome.estimates if "subset" not in row.dims)
    if left := [label for label in labels if label not in table.names]:
        where = "in the report" if output else "write them with -o FOLDER, print them with --json"
        return f"further measures ({listed(left, 8)}): {where}"
    return ""


def _from_first(s: Standing) -> tuple[str, str]:
    numbers = s.difference, s.difference_lower, s.difference_upper
    if s.difference is None:
        return "", ""
    return uncertain(*numbers, scale_of(s.shown_in, True), sign=True, apart=0.0)


def _with_column(table: Columns, name: str, cells: Sequence[str]) -> Columns:
    """A table with one more column at the right."""
    rows = zip(table.rows, cells, strict=True)
    return replace(
        table, names=(*table.names, name), rows=tuple((*row, cell) for row, cell in rows)
    )


def _asked_beside(outcome: Outcome) -> dict[str, dict[str, str]]:
    """The values of further measures that were asked for by name, by system."""
    [part] = outcome.parts
    every = part.scoring.values()
    asked = {name for scoring in every for name in (*scoring.measures, *scoring.also)}
    stored = tomllib.loads(outcome.configuration)  # all that a stored board has of the scoring
    asked |= {name for key in ("measures", "also") for name in stored.get(key, ())}
    found: dict[str, dict[str, str]] = {}
    for row in part.estimates:
        named = {row.label, row.measure} & asked and row.label != outcome.leaderboard[0].measure
        if named and "subset" not in row.dims:
            found.setdefault(row.label, {})[row.dims["system"]] = figures(row)[0]
    return {label: of for label, of in found.items() if len(of) == len(outcome.leaderboard)}
