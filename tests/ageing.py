"""Life cycles made by hand, for pictures and pages: `described` gives one as a result tells it."""

import numpy as np

from truecost.core.results import Row
from truecost.tasks.lifelong.descriptions import (
    Cell,
    CurvePoint,
    Figure,
    LearningCurve,
    LifelongDescription,
    PolicyCurve,
    PolicyFigure,
    StreamFigure,
)

STATES = ("base", "adapted", "impaired", "corrected")
MOVED = {"base": 0, "adapted": -0.03, "impaired": 0.04, "corrected": -0.05, "penalised": 0.06}
ASKED = {  # what a policy gives a distance, in the unit of times
    "recent:3": lambda since, until: 2.0 ** (-until / 3),
    "uniform": lambda since, until: np.ones(len(since)),
    "conservative:3": lambda since, until: 2.0 ** (-since / 3),
}
SAYS = {
    "recent:3": "the newest data count most",
    "uniform": "all data count alike",
    "conservative:3": "the oldest data count most",
}


def described(
    system="mine",
    versions=7,
    times=8,
    *,
    seed=0,
    states=("base",),
    policies=tuple(ASKED),
    score="wer",
    direction="lower",
    shown_in="percent",
    curve=None,
    names=None,
    gap=False,
    spread=0.03,
):
    """A system that forgets: it is best at what it learnt last."""
    rng = np.random.default_rng(seed)
    learnt = [None, *(float(k) for k in range(1, versions))]
    at = np.linspace(1.5, versions - 0.5, times)
    cells, table = [], np.zeros((versions, times))
    for i, when in enumerate(learnt):
        reach = 0.0 if when is None else when
        for j, t in enumerate(at):
            value = 0.12 + 0.04 * abs(float(t) - reach) + 0.02 * rng.random()
            value = min(value, 0.7) if direction == "lower" else 1 - min(value, 0.7)
            table[i, j] = value
            for state, moved in MOVED.items():
                if state in states:
                    shift = moved if direction == "lower" else -moved
                    half = spread * (1 + rng.random())
                    cells.append(
                        Cell(
                            version=str(i),
                            time=names[j] if names else f"{t:g}",
                            state=state,
                            seen=when is not None and 1 <= float(t) <= when,
                            value=None if gap and (i, j) == (1, 2) else value + shift,
                            lower=None if gap and (i, j) == (1, 2) else value + shift - half,
                            upper=None if gap and (i, j) == (1, 2) else value + shift + half,
                        )
                    )
    return LifelongDescription(
        dims={"system": system},
        score=score,
        title="Word error rate",
        direction=direction,
        shown_in=shown_in,
        versions=[str(k) for k in range(versions)],
        learnt=learnt,
        times=[*names] if names else [f"{t:g}" for t in at],
        at=[float(t) for t in at],
        cells=cells,
        policies=[_policy(name, learnt, at, table, "penalised" in states) for name in policies],
        stream=[
            StreamFigure(version=str(k), state=state, value=v, lower=v - 0.02, upper=v + 0.02)
            for k in range(1, versions)
            for state, v in (("base", 0.2 + 0.01 * k), ("adapted", 0.15 + 0.01 * k))
            if state in states
        ],
        curve=curve,
    )


def _policy(name, learnt, at, table, penalised):
    weights, figures = [], []
    for i, when in enumerate(learnt):
        seen = np.zeros(len(at), bool) if when is None else (at >= 1) & (at <= when)
        raw = np.where(seen, ASKED[name](at - 1, (0 if when is None else when) - at), 0.0)
        share = raw / raw.sum() if raw.sum() else raw
        weights.append([float(w) for w in share])
        value = float(share @ table[i]) if seen.any() else None
        frozen = float(share @ table[0]) if seen.any() else None
        for measure, more in (("policy_score", 0.0), ("penalised_score", 0.06)):
            if measure == "policy_score" or penalised:
                known = None if value is None else value + more
                figures.append(
                    PolicyFigure(
                        version=str(i),
                        measure=measure,
                        value=known,
                        lower=None if known is None else known - 0.02,
                        upper=None if known is None else known + 0.02,
                        naive=frozen,
                    )
                )
    return PolicyCurve(name=name, says=SAYS[name], weights=weights, figures=figures)


def curve(points=6, cost="seconds", area=0.22):
    """Errors that get fewer the more a person helps."""
    return LearningCurve(
        cost=cost,
        points=[
            CurvePoint(cost=60.0 * k, value=v, lower=v - 0.02, upper=v + 0.02)
            for k in range(points)
            for v in [0.15 + 0.2 * 0.6**k]
        ],
        maximum=60.0 * points,
        area=Figure(value=area, lower=area - 0.01, upper=area + 0.01),
    )


def row(measure, value, system="mine", score="wer", spread=0.01, **more):
    """A row of a result made by hand; keys that are dimensions go into `dims`."""
    dims = {"system": system} | {
        k: more.pop(k) for k in ("strategy", "version", "time", "policy", "subset") if k in more
    }
    known = {
        "measure": measure,
        "task": "lifelong",
        "parameters": {"variant": score} if score else {},
        "dims": dims,
        "value": value,
        "lower": None if value is None else value - spread,
        "upper": None if value is None else value + spread,
        "level": 0.95,
        "method": "percentile",
        "naive": None,
        "direction": "lower",
        "factors": ("item",),
        "n_units": 40,
        "n_trials": 40,
        "item": "utterance",
        "n_replicates": 100,
        "n_undefined": 0,
        "flags": (),
        "signature": f"{measure}:{score}|resample:item",
        "shown_in": "percent",
    }
    return Row(**known | more)
