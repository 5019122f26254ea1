"""`report.html`: one file, no network, no script; every picture has its table.

Pictures are inline SVG whose ink follows the page's colours, so that the page is readable in the
dark; each has a text alternative and the numbers that it draws as a table below it.
"""

import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from truecost.measures import find
from truecost.report.curves import Curve, Curves
from truecost.results import Row, assumed, verdict_of

if TYPE_CHECKING:
    from truecost.study import ResultFile

BARS = ("nec", "act_dcf", "min_dcf", "nce", "cllr", "min_cllr", "nbs", "nte", "nmae", "nmse")
FOREST = ("nec", "act_dcf", "min_dcf", "nmae", "nte")


@dataclass(frozen=True)
class Section:
    """A heading, a sentence, a picture and its table."""

    title: str
    text: str
    picture: str
    alternative: str
    header: tuple[str, ...]
    table: tuple[tuple[str, ...], ...]


def render(result: "ResultFile", curves: Sequence[Curves]) -> str:
    """The whole page."""
    values = [r for r in result.rows if r.kind == "value"]
    pairs = _pairs(result.rows)
    det = [_det(found.det, found.part, k) for k, found in enumerate(curves)]
    sections = [s for s in (_bars(values), *det, _forest(values)) if s is not None]
    page = _template().render(
        verdict=_verdict(pairs, values),
        sections=sections,
        all_header=HEADER,
        all_rows=[_cells(r) for r in values],
        paired=[_paired(*pair) for pair in pairs],
        how=_how(values),
        systems=_systems(values),
        level=values[0].level,
        problems=result.problems,
        input_rows=[(i.system or "key", i.file, i.sha256[:16] + "...") for i in result.inputs],
        signatures=_signatures(values),
        version=result.truecost,
        application=assumed(values),
    )
    return str(page)


@cache
def _template() -> Any:
    from jinja2 import Environment

    source = (files("truecost.report") / "page.html.j2").read_text(encoding="utf-8")
    return Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(source)


def _main(values: Sequence[Row]) -> str:
    """The measure that the verdict speaks of: the first with a naive reference."""
    names = [r.measure for r in values if r.reference is not None]
    return next((n for n in BARS if n in names), names[0] if names else values[0].measure)


def _systems(values: Sequence[Row]) -> str:
    names = list(dict.fromkeys(r.dims["system"] for r in values))
    return ", ".join(names) if len(names) < 3 else f"{len(names)} systems"


def _pairs(rows: Sequence[Row]) -> list[tuple[Row, Row]]:
    """Each difference with its ratio, which follows it."""
    derived = [r for r in rows if r.kind != "value"]
    return list(zip(derived[::2], derived[1::2], strict=True))


def _verdict(pairs: Sequence[tuple[Row, Row]], values: Sequence[Row]) -> list[str]:
    """A sentence for each system, then for each comparison."""
    main = _main(values)
    title = find(main).title.lower()
    said = [_sentence(r, title) for r in values if r.measure == main and "subset" not in r.dims]
    return said + [
        _difference(row, title)
        for row, _ in pairs
        if row.measure == main and "subset" not in row.dims
    ]


def _sentence(row: Row, title: str) -> str:
    name = row.dims["system"]
    if row.value is None:
        return f"{name}: the {title} is undefined ({row.reason})."
    said = (
        f"{name}: {title} {_text(row.value)}, {row.level:.0%} interval {_text(row.lower)} to "
        f"{_text(row.upper)}, from {row.n_trials} trials of {row.n_units} units"
    )
    if row.reference is None or row.lower is None or row.upper is None:
        return said + "."
    better, worse = row.upper < row.reference, row.lower > row.reference
    if row.direction == "higher":
        better, worse = row.lower > row.reference, row.upper < row.reference
    said += (
        "; better than the naive system"
        if better
        else "; WORSE than the naive system"
        if worse
        else "; not told apart from the naive system"
    )
    caveats = [CAVEATS[flag] for flag in row.flags if flag in CAVEATS]
    return said + (f" (but {', '.join(caveats)})." if caveats else ".")


CAVEATS = {
    "few_units": "the interval is too narrow: few units",
    "few_errors": "it rests on very few errors",
    "no_spread": "the interval has no width",
    "trials_as_units": "trials were resampled one by one",
}


def _difference(row: Row, title: str) -> str:
    pair = f"{row.dims['system']} against {row.baseline}"
    if row.value is None or row.lower is None or row.upper is None:
        return f"{pair}: the difference is undefined."
    said = f"{pair}: {title} {row.value:+.3g} ({_text(row.lower)} to {_text(row.upper)}), "
    return f"{said}{verdict_of(row)}."


def _text(value: float | None) -> str:
    if value is None:
        return "undefined"
    return f"{value:.3g}" if value == 0 or 1e-3 <= abs(value) < 1e5 else f"{value:.2e}"


def _bars(values: Sequence[Row]) -> Section | None:
    from truecost.report import plots

    rows = [
        r for r in values if "subset" not in r.dims and r.reference == 1.0 and r.measure in BARS
    ]
    rows.sort(key=lambda r: BARS.index(r.measure))
    if not rows:
        return None
    return Section(
        "Normalised costs",
        "1 is the naive system: the best constant answer. The thin line is the interval.",
        _pictures("bars", plots.cost_bars, rows, plots.bars_height(rows)),
        _alternative("Bars with intervals", rows),
        HEADER,
        tuple(_cells(r) for r in rows),
    )


def _alternative(what: str, rows: Sequence[Row]) -> str:
    """The picture in words, for those who do not see it."""
    said = [
        f"{r.dims['system']} {r.dims.get('subset', '')} {r.label} {_text(r.value)} ({_ends(r)})"
        for r in rows
    ]
    return f"{what}: {'; '.join(said[:12])}{'; and more' if len(said) > 12 else ''}"


def _det(curves: Sequence[Curve], part: str, place: int) -> Section | None:
    from truecost.report import plots

    if not curves:
        return None
    table = []
    for c in curves:
        for name, point in (("at the Bayes threshold", c.actual), ("least cost", c.minimum)):
            if point is not None:
                table.append((c.system, name, _percent(point[0]), _percent(point[1]), ""))
        table.extend(
            (
                c.system,
                "curve",
                _percent(c.rates[g]),
                _percent(c.middle[g]),
                f"{_percent(c.lower[g])} to {_percent(c.upper[g])}",
            )
            for g in range(4, len(c.rates), 14)
        )
    return Section(
        f"Detection error trade-off{part and ': '}{part}",
        "Every threshold gives a point; lower and further left is "
        "better. The band is the interval of the miss rate at each false-alarm rate.",
        _pictures(f"det{place}", plots.det, curves, 6.2, 4.9),
        "Miss rate against false-alarm rate. "
        + "; ".join(
            f"{c.system}: {_percent(c.actual[1])} missed at {_percent(c.actual[0])} false alarms"
            for c in curves
            if c.actual is not None
        ),
        ("system", "point", "false-alarm rate", "miss rate", "interval"),
        tuple(table),
    )


def _forest(values: Sequence[Row]) -> Section | None:
    from truecost.report import plots

    names = {r.measure for r in values if "subset" in r.dims}
    main = next((n for n in FOREST if n in names), next(iter(sorted(names)), None))
    rows = [r for r in values if r.measure == main]
    if main is None:
        return None
    return Section(
        "Subsets",
        f"{find(main).title} of each subset, with its own counts and reference. Hollow "
        "rows rest on too few units or errors to say anything.",
        _pictures("forest", plots.forest, rows, plots.forest_height(rows)),
        _alternative("Values by subset with intervals", rows),
        HEADER,
        tuple(_cells(r) for r in rows),
    )


HEADER = ("system", "subset", "measure", "value", "interval", "naive", "trials", "units", "note")


def _cells(row: Row) -> tuple[str, ...]:
    return (
        row.dims["system"],
        row.dims.get("subset", "all"),
        row.label,
        _text(row.value),
        _ends(row),
        "" if row.reference is None else _text(row.reference),
        str(row.n_trials),
        str(row.n_units),
        ", ".join(f.replace("_", " ") for f in row.flags),
    )


def _paired(row: Row, ratio: Row) -> tuple[str, ...]:
    return (
        *(row.dims["system"], row.baseline or "", row.dims.get("subset", "all"), row.label),
        *(_text(row.value), _ends(row), _text(ratio.value), _ends(ratio), verdict_of(row)),
    )


def _ends(row: Row) -> str:
    if row.lower is None and row.upper is None:
        return row.reason or "none"
    return f"{_text(row.lower)} to {_text(row.upper)}"


def _how(values: Sequence[Row]) -> tuple[tuple[str, str], ...]:
    """What was resampled and how, in words."""
    row = values[0]
    units = row.units_by_factor or dict.fromkeys(row.factors, row.n_units)
    return (
        ("resampled", ", ".join(f"{name} ({n} units)" for name, n in units.items()) or "nothing"),
        ("replicates", str(row.n_replicates)),
        ("interval", f"{row.method}, level {row.level:g}"),
        ("seed", row.signature.split("|seed:")[1].split("|")[0]),
    )


def _percent(rate: float) -> str:
    return f"{100 * rate:.3g} %"


def _signatures(values: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(r.signature for r in values))


def _pictures(
    name: str,
    draw: Callable[..., Any],
    data: Sequence[Any],
    height: float,
    narrow_height: float | None = None,
) -> str:
    """A picture for wide and one for narrow screens; the page shows the one that fits."""
    from truecost.report import plots

    wide = _svg(name, lambda: draw(data, plots.new_axes(7.2, height)))
    small = narrow_height or height + 0.3
    narrow = _svg(f"{name}-narrow", lambda: draw(data, plots.new_axes(4.2, small)))
    return f'<div class="wide">{wide}</div><div class="narrow">{narrow}</div>'


def _svg(name: str, draw: Callable[[], Any]) -> str:
    """An inline SVG without fixed size or times, its ids made unique on the page by `name`."""
    import matplotlib as mpl

    from truecost.report import plots

    with mpl.rc_context(plots.STYLE):  # type: ignore[arg-type]
        figure = draw().figure
        stream = io.StringIO()
        figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    text = stream.getvalue()
    text = text[text.index("<svg") :].replace(plots.INK, "currentColor")
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)
    used = set(re.findall(r'(?:url\(|href=")#([^")]+)', text))
    text = re.sub(r' id="([^"]+)"', lambda m: m[0] if m[1] in used else "", text)
    return re.sub(r'( id="|url\(#|href="#)', rf"\g<1>{name}-", text)
