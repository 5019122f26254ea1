"""The sections of searches for terms: error rates, values by threshold, queries, scores."""

from collections.abc import Callable, Mapping, Sequence
from math import isclose

import numpy as np

from truecost.core.digits import amount, between, figure, percent
from truecost.core.results import Row, figures
from truecost.report import plots
from truecost.report.plots.look import MANY
from truecost.report.section import Drawing, Line, Section, comma, drawing_of, told
from truecost.report.story import Part, Story, part_of
from truecost.report.tables import Table, used
from truecost.report.words import against_naive, caveats, isolated, value
from truecost.tasks.terms.describing import SearchDescription
from truecost.tasks.terms.verdict import VALUES, plain, searches_of

FEWEST = 3  # queries that are put in order
MOST_SYSTEMS = 8  # curves of one picture
POINTS = 12  # thresholds of a table
ORDER = (0.0, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)  # shares of the queries in a table
COUNTS = ("n_targets", "n_correct", "n_false_alarms", "n_missed")
GOOD = {"better": "good", "worse": "bad"}
CHIPS = {
    "better": "better than naive",
    "worse": "worse than naive",
    "same": "same as naive",
    "inconclusive": "inconclusive",
}
Found = Sequence[SearchDescription]


def side_by_side(story: Story) -> Section | None:
    """All values and counts of each search in a row."""
    found: dict[tuple[Part, str], dict[str, Row]] = {}
    for row in story.whole:
        found.setdefault((part_of(row), row.dims["system"]), {})[row.label] = row
    cells = [
        (
            *(dict(part.dims).get(name, "") for name in ("collection", "application")),
            *(system, *_values(rows), *_rates(rows), *_amounts(rows)),
        )
        for (part, system), rows in found.items()
    ]
    header = ("collection", "application", "system", *VALUES, "threshold of mtwv", "p_miss", "p_fa")
    names = ("targets", "found", "false alarms", "missed")
    table = used("Values and counts of each search", (*header, *names), cells) if cells else None
    if table is None or not {*VALUES} & {*table.header}:
        return None
    text = (
        "Term-weighted values at the system's decisions (atwv), at the best threshold of all "
        "queries (mtwv) and of each query (otwv); what detections with any score find (stwv). "
        "Intervals stand under All values."
    )
    return Section("Term-weighted values", text, tables=(table,))


def _values(rows: Mapping[str, Row]) -> list[str]:
    """Term-weighted values, and the threshold of the maximum."""
    best = rows.get("mtwv")
    at = "" if best is None or best.value is None else "none"
    if best is not None and best.threshold is not None:
        at = figure(best.threshold)
    return [*(figures(rows[name])[0] if name in rows else "" for name in VALUES), at]


def _rates(rows: Mapping[str, Row]) -> list[str]:
    return [figures(rows[name])[0] if name in rows else "" for name in ("p_miss", "p_fa")]


def _amounts(rows: Mapping[str, Row]) -> list[str]:
    known = [rows[name].value if name in rows else None for name in COUNTS]
    return ["" if number is None else amount(number) for number in known]


def det_of_terms(story: Story) -> Section | None:
    """Mean miss rate against mean false-alarm rate, for each part."""
    drawings = [
        drawing_of(
            *(plots.det_of_terms, shown, plots.det_of_terms_height, _told_rates(shown)),
            of_points(f"Mean error rates{comma(name)}: numbers", shown, of="rates"),
            title=title,
            square=True,
        )
        for name, title, shown in _shown(story, plots.with_false_alarms)
    ]
    if not drawings:
        return None
    text = (
        "Every threshold gives a point: rates are means over queries; lower and further left is "
        "better."
    )
    if _banded(story):
        text += " The band is the percentile interval of the miss rate at each false-alarm rate."
    return Section("Detection error trade-off", text, tuple(drawings))


def _shown(
    story: Story, chosen: Callable[[Found], list[SearchDescription]]
) -> list[tuple[str, str, list[SearchDescription]]]:
    """Name, title and searches of each picture: of many the best ones."""
    found = []
    for part in story.parts:
        every = chosen(searches_of(story, part))
        shown = every[:MOST_SYSTEMS]
        best = f"The {len(shown)} best of {len(every)} systems" if len(every) > len(shown) else ""
        title = ", ".join(filter(None, (best, part.name)))
        if shown:
            found.append((part.name, title, shown))
    return found


def _banded(story: Story) -> bool:
    """Whether some picture has bands: of few systems, where there was something to resample."""
    return any(
        len(searches_of(story, part)) <= MANY
        and any(d.curve is not None and d.curve.twv_lower for d in searches_of(story, part))
        for part in story.parts
    )


def _told_rates(found: Found) -> str:
    return "Mean miss rate against mean false-alarm rate of queries. " + told(
        f"{d.system}: "
        + ", ".join(
            f"{plots.MARKED[not used]} {figure(p.p_miss)} missed at {figure(p.p_fa)} false alarms"
            for p, _, used in plots.points_of(d)
        )
        for d in found
    )


def of_points(caption: str, found: Found, *, of: str) -> Table:
    """Marks and some points of each curve: mean rates, or values with bands."""
    cells = [row for d in found for row in (*_marks(d), *_points(d, of))]
    interval = {"rates": "miss rate at this false-alarm rate", "values": "interval"}[of]
    header = ("system", "point", "threshold", "TWV", "miss rate", "false-alarm rate", interval)
    return used(caption, header, cells)


def _marks(found: SearchDescription) -> list[tuple[str, ...]]:
    """The system's decisions, and the maximum."""
    return [
        (
            *(found.system, plots.MARKED[not used], "none" if at is None else figure(at)),
            *(figure(p.twv), figure(p.p_miss), figure(p.p_fa), ""),
        )
        for p, at, used in plots.points_of(found)
    ]


def _points(found: SearchDescription, of: str) -> list[tuple[str, ...]]:
    """A curve at some of its thresholds."""
    curve = found.curve
    if curve is None:
        return []
    ends: dict[float, tuple[float, float]] = {}
    if of == "rates":
        band = zip(curve.det_p_fa, curve.det_lower, curve.det_upper, strict=True)
        ends = {rate: (low, high) for rate, low, high in band}
    elif curve.twv_lower:
        band = zip(curve.thresholds, curve.twv_lower, curve.twv_upper, strict=True)
        ends = {at: (low, high) for at, low, high in band}
    count = len(curve.thresholds)
    places = np.unique(np.linspace(0, count - 1, min(count, POINTS)).round().astype(int)).tolist()
    return [
        (
            *(found.system, "curve", figure(curve.thresholds[k]), figure(curve.twv[k])),
            *(figure(curve.p_miss[k]), figure(curve.p_fa[k])),
            between(
                *ends.get(curve.p_fa[k] if of == "rates" else curve.thresholds[k], (None, None))
            ),
        )
        for k in places
    ]


def value_by_threshold(story: Story) -> Section | None:
    """TWV against the threshold: systems whose scores share an axis together, others alone."""
    drawings = []
    for name, title, shown in _shown(story, lambda found: [d for d in found if d.curve]):
        groups = [shown] if plots.alike(shown) else [[d] for d in shown]
        for group in groups:
            own = group[0].system if len(groups) > 1 else ""
            said = ", ".join(filter(None, (own, title)))
            caption = f"TWV against threshold{comma(', '.join(filter(None, (own, name))))}"
            drawings.append(_by_threshold(group, caption, said))
    if not drawings:
        return None
    text = (
        "What each threshold would give. The filled mark is what the system's decisions give, at "
        "the lowest score that they accept; the hollow one is the maximum for these very data: the "
        "height between them is what a better threshold would gain."
    )
    if _banded(story):
        text += " Bands are pointwise intervals."
    if any(d.llr for d in story.described_as(SearchDescription)):
        text += " Thresholds are log-likelihood ratios (LLR), natural logarithms."
    return Section("Term-weighted value against threshold", text, tuple(drawings))


def _by_threshold(found: Found, caption: str, title: str) -> Drawing:
    words = "Term-weighted value against the threshold. " + told(
        f"{d.system}: "
        + ", ".join(
            f"{plots.MARKED[not used]} {figure(p.twv)}"
            + (" by rejecting everything" if at is None else f" at {figure(at)}")
            for p, at, used in plots.points_of(d)
        )
        for d in found
    )
    table = of_points(f"{caption}: numbers", found, of="values")
    return drawing_of(plots.twv_by_threshold, found, plots.twv_height, words, table, title=title)


def all_queries(story: Story) -> Section | None:
    """The values of all queries in order."""
    drawings = []
    for name, title, shown in _shown(story, _with_several):
        cells = [(d.system, *(figure(_quantile(d.values, q)) for q in ORDER)) for d in shown]
        shares = [percent(q) for q in ORDER]
        header = ("system", f"lowest ({shares[0]})", *shares[1:-1], f"highest ({shares[-1]})")
        table = used(f"Values of all queries{comma(name)}: numbers", header, cells)
        words = "Term-weighted values of all queries, lowest first. " + told(
            f"{row[0]}: lowest {row[1]}, half of the queries at most {row[5]}, highest {row[-1]}"
            for row in cells
        )
        drawings.append(
            drawing_of(
                plots.queries_in_order, shown, plots.in_order_height, words, table, title=title
            )
        )
    text = "Each query counts alike, so a few rare ones with false alarms can decide the mean."
    return Section("All queries", text, tuple(drawings)) if drawings else None


def _with_several(found: Found) -> list[SearchDescription]:
    """Searches with enough queries for an order."""
    return [d for d in found if len(d.values) >= FEWEST]


def _quantile(values: Sequence[float], share: float) -> float:
    """The value that this share of ordered values does not exceed."""
    return values[max(0, int(np.ceil(share * len(values))) - 1)]


def worst_queries(story: Story) -> Section | None:
    """The queries that cost most, a picture a system."""
    drawings = [
        drawing_of(
            *(plots.query_forest, d, plots.query_forest_height, _told_queries(d)),
            _queries(d, title),
            title=title if several else "",
        )
        for d, title, several in _each(story, lambda d: bool(d.worst))
    ]
    if not drawings:
        return None
    found = [d for d in story.described_as(SearchDescription) if d.worst]
    cut = any(len(d.worst) < d.queries_with_targets for d in found)
    which = (
        f"The {max(len(d.worst) for d in found)} queries with the lowest values"
        if cut
        else ("All queries, those with the lowest values first")
    )
    text = f"{which}. At the right stand targets that were found and accepted, and false alarms."
    if any(w.lower is not None for d in found for w in d.worst):
        text += " Intervals are over documents."
    return Section("Queries that cost most", text, tuple(drawings))


def _each(
    story: Story, chosen: Callable[[SearchDescription], bool]
) -> list[tuple[SearchDescription, str, bool]]:
    """Searches one by one, each with its name, and whether there are several."""
    found = [
        (d, ", ".join(filter(None, (isolated(d.system), part.name))))
        for part in story.parts
        for d in searches_of(story, part)
        if chosen(d)
    ]
    return [(d, name, len(found) > 1) for d, name in found]


def _told_queries(found: SearchDescription) -> str:
    return "Term-weighted value of queries, lowest first: " + told(
        f"{w.query} {figure(w.twv)} {between(w.lower, w.upper)}" for w in found.worst
    )


def _queries(found: SearchDescription, name: str) -> Table:
    cells = [
        (
            *(w.query, " ".join(w.text.split())),
            *map(amount, (w.targets, w.correct, w.false_alarms)),
            *(figure(w.twv), between(w.lower, w.upper), figure(w.optimum), figure(w.supremum)),
        )
        for w in found.worst
    ]
    header = ("query", "text", "targets", "found", "false alarms", "TWV", "interval")
    names = ("at its best threshold", "found at all")
    return used(f"Queries that cost most, {name}: numbers", (*header, *names), cells)


def scores(story: Story) -> Section | None:
    """Scores against what the data show, and cross entropy in words."""
    drawings = tuple(
        drawing_of(
            *(plots.score_map, d, plots.score_map_height, _told_bins(d), _bins(d, title)),
            title=title if several else "",
            square=True,
        )
        for d, title, several in _each(story, lambda d: bool(d.bins))
    )
    lines = [line for d, title, _ in _each(story, _every) for line in _entropy(story, d, title)]
    if not drawings and not lines:
        return None
    text = ""
    if drawings:
        text = (
            "What a score is worth: the log-likelihood ratio that the data show for detections "
            "with about that score. Above the Bayes threshold a detection is worth accepting. "
        )
    if lines:
        text += (
            "Cnxe is the cross entropy of the scores, taken as log-likelihood ratios of all "
            "trials; 1 is a system that knows the prior only. Its minimum is that of the best "
            "affine calibration, the loss the difference."
        )
    return Section("Calibration of the scores", text.strip(), drawings, lines=tuple(lines))


def _every(found: SearchDescription) -> bool:
    return bool(found.system)


def _told_bins(found: SearchDescription) -> str:
    return "Log-likelihood ratio that the data show by score: " + told(
        f"at {figure(b.score)} {figure(b.llr)} {between(b.lower, b.upper)}" for b in found.bins
    )


def _bins(found: SearchDescription, name: str) -> Table:
    cells = [
        (
            *(figure(b.score), between(b.lowest, b.highest)),
            *(amount(b.targets), amount(b.nontargets)),
            *(figure(b.llr), between(b.lower, b.upper)),
        )
        for b in found.bins
    ]
    header = ("score", "from its lowest to its highest", "targets", "nontargets")
    names = ("log-likelihood ratio", "two standard errors")
    return used(f"Calibration of the scores, {name}: numbers", (*header, *names), cells)


def _entropy(story: Story, found: SearchDescription, name: str) -> list[Line]:
    """`Cnxe 0.93 = min 0.42 + loss 0.51`, and where the Bayes threshold lies."""
    rows = {
        r.label: r
        for r in story.whole
        if r.dims["system"] == found.system
        and all(r.dims.get(k, "") == getattr(found, k) for k in ("collection", "application"))
    }
    lines = []
    for label, row in rows.items():
        if row.measure != "cnxe":
            continue
        variant = row.parameters.get("variant", "pooled")
        parts = [rows.get(label.replace("cnxe", name, 1)) for name in ("min_cnxe", "cnxe_loss")]
        state = against_naive(row)
        about = name if variant == "pooled" else f"{name}, {variant.replace('_', ' ')}"
        beyond = (_calibrated(found), caveats(row).capitalize()) if variant == "pooled" else ()
        more = "".join(f"{text}. " for text in beyond if text).strip()
        lines.append(
            Line(GOOD.get(state, "open"), CHIPS.get(state, ""), about, _made_of(row, *parts), more)
        )
    return lines


def _made_of(row: Row, least: Row | None, loss: Row | None) -> str:
    """Cross entropy as an equation where both of its terms are there and add up to it."""
    whole = f"Cnxe {value(row)}"
    if row.value is None:
        return whole
    terms = [None if part is None else part.value for part in (least, loss)]
    total = None if None in terms else sum(filter(None, terms))
    if least and loss and total is not None and isclose(row.value, total, abs_tol=1e-9):
        return f"{whole} = min {plain(least)} + loss {plain(loss)}"
    named = (("minimum", least), ("loss", loss))
    return "; ".join([whole, *(f"{name} {plain(part)}" for name, part in named if part)])


def _calibrated(found: SearchDescription) -> str:
    """At which score the best affine calibration accepts."""
    at = plots.crossing_of(found)
    if at is None:
        return (
            "" if found.gamma is None else "The best affine calibration does not rise with scores"
        )
    said = f"The best affine calibration accepts from score {figure(at)} on"
    if found.least_accepted is not None:
        said += f"; the lowest score accepted is {figure(found.least_accepted)}"
    return said
