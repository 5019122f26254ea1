"""The tables of `docs/coverage.md`, from the lines of the study."""

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import median
from typing import Any

from covering.cells import Cell
from covering.running import joined

BEGIN, END = "<!-- coverage: begin -->", "<!-- coverage: end -->"
TARGET = 0.94
HEAD = (
    "| cell | data sets | `auto` | below, above | width | `percentile` | below, above | width |\n"
    "|---|---:|---:|---:|---:|---:|---:|---:|"
)


def coverage(count: Mapping[str, Any]) -> float:
    """Share of the intervals that hold the truth."""
    whole = count["held"] + count["below"] + count["above"]
    return count["held"] / whole if whole else math.nan


def too_low(count: Mapping[str, Any], least: float = TARGET) -> bool:
    """Whether the coverage lies below the target by more than two standard errors."""
    whole = count["held"] + count["below"] + count["above"]
    return whole > 0 and coverage(count) < least - 2 * math.sqrt(least * (1 - least) / whole)


def warned(cell: Mapping[str, Any], label: str) -> bool:
    """Whether most rows say themselves that they may cover too little."""
    told: bool = cell["measures"][label]["auto"]["warned"] >= cell["runs"] / 2
    return told


def write(page: Path, lines: Iterable[dict[str, Any]], cells: Iterable[Cell]) -> None:
    """Put the tables of these cells into the marked block of a page."""
    text = page.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    found = joined(lines)
    known = {c.key: found[c.key] for c in cells if c.key in found}
    page.write_text(f"{before}{BEGIN}\n\n{tables(known)}\n\n{END}{after}", encoding="utf-8")


def tables(cells: Mapping[str, dict[str, Any]]) -> str:
    """A summary, and a table for each kind and measure."""
    groups: dict[tuple[str, str], list[tuple[str, dict[str, Any]]]] = {}
    for key, cell in cells.items():
        kind, name = key.split(": ", 1)
        for label in cell["measures"]:
            groups.setdefault((kind, label), []).append((name, cell))
    parts = ["## All kinds", summary(groups), lows(groups)]
    for kind in dict.fromkeys(kind for kind, _ in groups):
        parts.append(f"## {kind.capitalize()}")
        for (of, label), rows in groups.items():
            if of == kind:
                parts.append(f"### {kind.capitalize()}: `{label}`")
                parts.append("\n".join([HEAD, *(row(name, c, label) for name, c in rows)]))
    return "\n\n".join(parts)


def summary(groups: Mapping[tuple[str, str], list[tuple[str, dict[str, Any]]]]) -> str:
    """How many cells of each measure are too low by each method."""
    text = [
        "| kind | measure | cells | data sets per cell | `auto`: least, median | too low | "
        "`percentile`: least, median | too low |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    for (kind, label), rows in groups.items():
        runs = [cell["runs"] for _, cell in rows]
        said = [f"{min(runs)}" if min(runs) == max(runs) else f"{min(runs)}-{max(runs)}"]
        for method in ("auto", "percentile"):
            counts = [cell["measures"][label][method] for _, cell in rows]
            known = [c for c in map(coverage, counts) if not math.isnan(c)]
            least = f"{percent(min(known))}, {percent(median(known))}" if known else "-"
            said += [least, str(sum(map(too_low, counts)))]
        text.append(f"| {kind} | `{label}` | {len(rows)} | {' | '.join(said)} |")
    return "\n".join(text)


def lows(groups: Mapping[tuple[str, str], list[tuple[str, dict[str, Any]]]]) -> str:
    """The cells in which `auto` covers too little, silently and with a warning."""
    found: dict[bool, list[str]] = {False: [], True: []}
    for (kind, label), rows in groups.items():
        for name, cell in rows:
            count = cell["measures"][label]["auto"]
            if too_low(count):
                line = f"- {kind}: {name}: `{label}` {percent(coverage(count))}"
                found[warned(cell, label)].append(line)
    whole = sum(len(rows) for rows in groups.values())
    text = []
    for known, words in ((False, "without"), (True, "with")):
        ends = ":" if found[known] else "."
        share = f"{len(found[known])} of {whole} lines{ends}"
        said = f"`auto` covers too little {words} a warning in {share}"
        text.append("\n".join([said, "", *found[known]]).rstrip())
    return "\n\n".join(text)


def row(name: str, cell: Mapping[str, Any], label: str) -> str:
    """One line of a table."""
    said = [name + (" (†)" if warned(cell, label) else ""), str(cell["runs"])]
    for method in ("auto", "percentile"):
        count = cell["measures"][label][method]
        share = percent(coverage(count))
        said.append(f"**{share}**" if too_low(count) else share)
        whole = max(1, count["held"] + count["below"] + count["above"])
        lacking = f", {count['none']} without" if count["none"] else ""
        tails = (percent(count[side] / whole) for side in ("below", "above"))
        said += [", ".join(tails) + lacking, width(count["widths"])]
    return f"| {' | '.join(said)} |"


def percent(share: float) -> str:
    """A share as `95.2`."""
    return "-" if math.isnan(share) else f"{100 * share:.1f}"


def width(widths: Iterable[float | None]) -> str:
    """The median over blocks of the median width."""
    found = median([math.inf if w is None else w for w in widths])
    return "infinite" if math.isinf(found) else f"{found:.3g}"
