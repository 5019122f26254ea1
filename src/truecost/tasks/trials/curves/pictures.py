"""The pictures of curves: error trade-offs, costs by threshold, reliability."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from truecost.core.digits import figure
from truecost.errors import UsageError
from truecost.pictures.picture import Axis, Kind, Mark, Picture, keys_of, span
from truecost.pictures.rows import needed
from truecost.pictures.tables import below_each_other
from truecost.tasks.trials.curves.cost import CostCurve
from truecost.tasks.trials.curves.det import Curve
from truecost.tasks.trials.curves.reliability import Reliability

AnyCurve = Curve | CostCurve
Place = tuple[float, float]
LINEAR = 2.5  # costs up to so many times the naive one are drawn on a linear axis
RANKED = "a detection system whose scores rank trials"
POINTS: dict[Kind, str] = {"dot": "threshold in use", "hollow": "least cost"}
BINS: dict[Kind, str] = {"dot": "trials in bins", "hollow": "one class only"}


def det(curves: Sequence[Curve], *, title: str = "", per_hour: float = 0.0) -> Picture:
    """DET curves on normal-deviate axes, with operating points and bands of the miss rate.

    A filled dot marks the threshold in use, a hollow dot the threshold with the lowest cost.

    Parameters
    ----------
    curves : sequence of Curve
        Curves from `curves.det_curves`.
    per_hour : float
        Number of nontargets per hour of audio. If it is above 0, false alarms per hour are shown
        below the false-alarm rates.

    Raises
    ------
    UsageError
        If there are no curves, or an object is not a `Curve`.
    """
    _check(curves, Curve, "det_curves", RANKED)
    floor = min(0.5 / max(1 / c.rates[0], 20) for c in curves)
    x, y = (
        Axis(label=label, kind="probit", domain=(floor, _most(curves, k)), scale="%")
        for k, label in enumerate(("false-alarm rate", "miss rate"))
    )
    if per_hour:
        x = replace(x, label=f"{x.label}; below: false alarms per hour", factor=per_hour)
    return _errors("det", curves, x, y, title=title)


def _errors(name: str, curves: Sequence[Curve], x: Axis, y: Axis, *, title: str) -> Picture:
    """Bands, curves and operating points; upwards go misses, or what is not missed (ROC)."""
    missed, marks = name == "det", [Mark(kind="diagonal")]

    def up(miss: Any) -> Any:
        return miss if missed else 1 - miss

    for c in curves:
        marks.append(_band(c.system, c.rates, *sorted((up(c.lower), up(c.upper)), key=np.nansum)))
        drawn = c.p_fa > 0 if missed else c.p_fa >= 0  # 0 has no place on normal deviates
        marks.append(_steps(c.system, c.p_fa[drawn][::-1], up(c.p_miss[drawn][::-1])))
    for one, kind, point, (fa, miss) in _points(curves):
        said = f"{one.system}, {point}: {figure(miss, '%')} missed, {figure(fa, '%')} false alarms"
        how: Any = {"series": one.system, "label": said, "live": "det" * (kind == "dot")}
        marks.append(Mark(kind=kind, x=fa, y=up(miss), **how))
    return Picture(
        name=name,
        title=title,
        x=x,
        y=y,
        marks=tuple(marks),
        key=keys_of(marks, POINTS),
        table=below_each_other([c.numbers() for c in curves]),
        square=True,
        zoom=True,
    )


def _most(curves: Sequence[Curve], side: int) -> float:
    """The end of a DET axis, so that curves, bands and operating points are visible."""
    found = [p[side] for c in curves for p in (c.actual, c.minimum) if p is not None]
    for c in curves:
        found += c.rates[c.middle > 0].tolist() if side == 0 else []
        found += [*c.p_miss[c.p_fa > 0], *c.upper] if side == 1 else []
    most = max((float(v) for v in found if np.isfinite(v)), default=0.4)
    ends = (0.05, 0.2, 0.4, 0.6) if side == 0 else (0.05, 0.2, 0.4, 0.6, 0.8, 0.96)
    return next((end for end in ends if end > most), ends[-1])


def _band(system: str, x: Any, low: Any, high: Any) -> Mark:
    seen = np.isfinite(low) & np.isfinite(high)
    return Mark(kind="band", x=x[seen], lo=low[seen], hi=high[seen], series=system)


def _steps(system: str, x: Any, y: Any) -> Mark:
    return Mark(kind="line", x=x, y=y, series=system, step=True)


def _points(curves: Sequence[AnyCurve]) -> Iterator[tuple[AnyCurve, Kind, str, Place]]:
    """The operating point of each system, a dot, and the one of least cost."""
    for c in curves:
        for (kind, name), at in zip(POINTS.items(), (c.actual, c.minimum), strict=True):
            if at is not None and not np.isnan(at).any():
                yield c, kind, name, at


def _check(found: Sequence[Any], kind: type, maker: str, what: str) -> None:
    """Refuse to draw nothing, or anything but curves of a kind: UsageError."""
    needed(found, f"these curves need {what}")
    other = next((c for c in found if not isinstance(c, kind)), None)
    if other is not None:
        raise UsageError(
            f"a {type(other).__name__} is not a curve: this picture draws what curves.{maker} "
            f"gives; call found = curves.{maker}(systems, scoring) first"
        )


def roc(curves: Sequence[Curve], *, title: str = "") -> Picture:
    """ROC curves: detection rate (1 - miss rate) against false-alarm rate, with bands and operating
    points.

    The operating points are those of `det`. The area under a ROC curve includes thresholds that are
    never used (Ferrer et al. 2024, section 3.1). `det` shows the range of useful thresholds in more
    detail.

    Parameters
    ----------
    curves : sequence of Curve
        Curves from `curves.det_curves`.

    Raises
    ------
    UsageError
        If there are no curves, or an object is not a `Curve`.

    Examples
    --------
    >>> import truecost as tc
    >>> from truecost.tasks.trials import curves, pictures
    >>> scores, labels = [0.1, 0.4, 0.3, 0.9], [0, 0, 1, 1]
    >>> trials = tc.Trials.from_arrays(scores, labels, kind="score", name="mine")
    >>> picture = pictures.roc(curves.det_curves([trials], tc.Scoring(plan=tc.Plan(50))))
    >>> picture.x.label, picture.y.label
    ('false-alarm rate', 'detection rate')
    """
    _check(curves, Curve, "det_curves", RANKED)
    axes = (
        Axis(label=label, domain=(0.0, 1.0), scale="%")
        for label in ("false-alarm rate", "detection rate")
    )
    return _errors("roc", curves, *axes, title=title)


def cost_against_threshold(curves: Sequence[CostCurve], *, title: str = "") -> Picture:
    """Normalised detection cost against the threshold, with bands; the naive baseline costs 1.

    A filled dot marks the threshold in use, a hollow dot the threshold with the lowest cost. The
    cost axis is logarithmic if the cost at such a dot is above 2.25.

    Parameters
    ----------
    curves : sequence of CostCurve
        Curves from `curves.cost_curves`.

    Raises
    ------
    UsageError
        If there are no curves, or an object is not a `CostCurve`.
    """
    _check(curves, CostCurve, "cost_curves", "scores of both classes, and the cost of both errors")
    left, right = _thresholds(curves)
    bottom, top = _costs(curves)
    used = sorted({c.actual[0] for c in curves if c.actual is not None})
    marks = [Mark(kind="rule", y=1.0, text="naive")]
    marks += [Mark(kind="rule", x=at, live="threshold") for at in used]
    for c in curves:
        marks.append(_band(c.system, c.grid, np.maximum(c.lower, bottom), c.upper))
        # The last threshold rejects all: its cost holds from the highest score to the edge.
        at = np.append(-np.inf, c.threshold[:-1])
        at[0] = min(left, at[1] if len(at) > 1 else left)
        ends = np.append(at, max(right, float(at[-1])))
        costs = np.append(np.maximum(c.cost, bottom), max(float(c.cost[-1]), bottom))
        marks.append(_steps(c.system, ends, costs))
    for one, kind, point, (x, y) in _points(curves):
        said = f"{one.system}, {point}: cost {figure(y)} at {figure(x)}"
        how: Any = {"series": one.system, "label": said, "live": "cost" * (kind == "dot")}
        marks.append(Mark(kind=kind, x=float(np.clip(x, left, right)), y=y, **how))
    raw = any(c.unit == "score" for c in curves)
    return Picture(
        name="threshold",
        title=title,
        x=Axis(
            label="threshold on the score" if raw else "threshold (log-likelihood ratio, nats)",
            domain=(left, right),
        ),
        y=Axis(
            label="cost (naive = 1)",
            kind="log" if bottom > 0 else "linear",
            domain=(bottom, top),
        ),
        marks=tuple(marks),
        key=keys_of(marks, POINTS),
        table=below_each_other([c.numbers() for c in curves]),
        zoom=True,
    )


def _thresholds(curves: Sequence[CostCurve]) -> tuple[float, float]:
    """Thresholds that are shown: the cheap ones of every system, and those in use."""
    ends = []
    for c in curves:
        cheap = c.threshold[(c.cost <= LINEAR) & np.isfinite(c.threshold)]
        low = max(c.shown[0], cheap.min()) if len(cheap) else c.shown[0]
        marked = [t[0] for t in (c.actual, c.minimum) if t is not None and np.isfinite(t[0])]
        ends += [min([low, *marked]), max([c.shown[1], *marked])]
    return span(ends, pad=0.05)


def _costs(curves: Sequence[CostCurve]) -> tuple[float, float]:
    """Costs that are shown: from 0, or from the least on a logarithmic axis."""
    marked = [at[1] for c in curves for at in (c.actual, c.minimum) if at is not None]
    if max(marked, default=1.0) <= LINEAR * 0.9:
        return 0.0, max(1.5, 1.15 * max(marked, default=1.0))
    least = min([v for v in marked if v > 0], default=0.1)
    return min(0.5, 0.6 * least), 1.6 * max(marked)


LABELS = {
    "llr": ("predicted log-likelihood ratio (nats)", "empirical log-likelihood ratio (nats)"),
    "posterior": ("predicted posterior of the target", "share of targets"),
    "top": ("predicted posterior of the most probable class", "share that is right"),
}
FEW = 3  # with more systems the intervals of bins are left out


def reliability(curves: Sequence[Reliability], *, title: str = "") -> Picture:
    """Reliability diagram: predicted against observed probabilities. A calibrated system is on the
    diagonal.

    The line is the best monotone calibration (pool adjacent violators). Dots are bins with about
    equal numbers of trials, with intervals. A histogram above the diagram shows the frequency
    of the predictions. For log-likelihood ratios, a bin with trials of one class only is a hollow
    mark on the edge, and the line is interrupted there.

    The calibration error does not measure quality: a system that always predicts the prior is on
    the diagonal (Ferrer et al. 2024, section 3.6).

    Parameters
    ----------
    curves : sequence of Reliability
        Curves from `curves.reliabilities`, all on one scale.

    Raises
    ------
    UsageError
        If there are no curves, the curves have different scales, or an object is not a
        `Reliability`.
    """
    what = "likelihood ratios or posteriors of both classes"
    _check(curves, Reliability, "reliabilities", what)
    scales = sorted({c.scale for c in curves})
    if len(scales) != 1:
        raise UsageError(f"reliabilities on the scales {', '.join(scales)}: draw one scale at once")
    llr = scales[0] == "llr"
    ends = height = (0.0, 1.0)
    if llr:
        ends = min(float(c.edges[0]) for c in curves), max(float(c.edges[-1]) for c in curves)
        height = span([v[np.isfinite(v)] for c in curves for v in (c.drawn(c.bin_seen),)], pad=0.2)
    marks, strip = [Mark(kind="diagonal")], []
    for c in curves:
        marks += _calibration(c, ends, height, intervals=len(curves) <= FEW)
        if len(curves) <= FEW + 1:
            heights = c.counts / np.diff(c.edges)
            strip.append((c.system, c.edges, np.append(heights, 0.0) / (heights.max() or 1.0)))
    return Picture(
        name="reliability",
        title=title,
        x=Axis(label=LABELS[scales[0]][0], domain=ends, scale="" if llr else "%"),
        y=Axis(label=LABELS[scales[0]][1], domain=height, scale="" if llr else "%"),
        marks=tuple(marks),
        key=keys_of(marks, BINS),
        strip=tuple(strip),
        table=below_each_other([c.numbers() for c in curves]),
        square=not llr,
        zoom=True,
    )


def _calibration(
    c: Reliability, ends: tuple[float, float], height: tuple[float, float], *, intervals: bool
) -> list[Mark]:
    """The monotone map, and the bins with their intervals; the infinite stands on the edge."""
    from scipy.special import expit

    llr = c.scale == "llr"
    x = c.said if llr else expit(c.said)
    y = np.where(np.isinf(c.seen), np.nan, c.seen) if llr else expit(c.seen)
    marks = [Mark(kind="line", x=x, y=y, series=c.system)]
    at_scale, words = [c.drawn(v) for v in (c.bin_said, c.bin_seen)], "" if llr else "%"
    x = np.clip(at_scale[0], *ends)
    drawn = (np.clip(c.drawn(v), *height) for v in (c.bin_seen, c.bin_lower, c.bin_upper))
    for at, seen, low, high, share, predicted, empirical in zip(
        x, *drawn, c.bin_seen, *at_scale, strict=True
    ):
        if intervals and np.isfinite([low, high]).all():
            marks.append(Mark(kind="interval", x=at, lo=low, hi=high, series=c.system))
        said = f"{c.system}: predicted {figure(predicted, words)}, "
        said += f"empirical {figure(empirical, words)}"
        kind: Kind = "hollow" if share <= 0 or share >= 1 else "dot"
        marks.append(Mark(kind=kind, x=at, y=seen, series=c.system, label=said))
    return marks
