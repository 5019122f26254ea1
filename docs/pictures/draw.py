"""Draw the pictures of the README and the documentation: python docs/pictures/draw.py."""

from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import truecost as tc
from truecost.gates import check
from truecost.learning.live.live import run_live
from truecost.report import curves, plots
from truecost.report.units import units_of
from truecost.tasks.abba.arrays import collected_items
from truecost.tasks.abba.describing import Plane
from truecost.tasks.abba.thresholds import Choice, choose
from truecost.tasks.streams import OnlineDescription
from truecost.tasks.terms import SearchDescription

INK = "#30363d"
SUBSETS = ("active < 0.4", "active >= 0.4 AND active < 0.8", "active >= 0.8")


def demo() -> tc.Outcome:
    """The outcome of `truecost demo`."""
    folder = files("truecost") / "data" / "demo"
    tables = {
        "baseline": "logistic",
        "data": {"type": "llr", "map": {"id": "trial", "unit": "speaker"}},
        "systems": {name: {"file": f"{folder / name}.csv"} for name in ("logistic", "network")},
        "application": {"prior": 0.05},
        "subsets": {name: name for name in SUBSETS},
    }
    return tc.run(tc.Study.of(tables))


def picture(outcome: tc.Outcome) -> Figure:
    """Normalised costs beside DET curves: the picture of the README."""
    figure = Figure(figsize=(10.5, 4.4), layout="constrained", facecolor="white")
    left, right = figure.subplots(1, 2, width_ratios=(1.25, 1))
    costs = ("act_dcf", "min_dcf", "cllr", "min_cllr")
    plots.cost_bars([r for r in outcome.estimates if r.measure in costs], left)
    plots.det(curves.of(outcome.parts[0]).det, right)
    return figure


def diarized(name: str, rate: float) -> tc.Items:
    """A system on eight made-up meetings, as in docs/pictures.md."""
    turns, rng = np.arange(160), np.random.default_rng(1)
    speakers = [("ann", "bob", "cho")[k % 3] for k in turns]
    right = {
        "recording": [f"meeting {k // 20 + 1}" for k in turns],
        "speaker": speakers,
        "start": 5.0 * (turns % 20) + 0.5,
        "end": 5.0 * (turns % 20) + 5.0,
    }
    hard = rate * np.repeat(rng.gamma(4, size=8) / 4, 20)
    late, early = np.clip(hard * rng.exponential(size=(2, 160)) - 0.3, -0.4, 2)
    said = right | {
        "start": right["start"] + late,
        "end": right["end"] - early,
        "speaker": np.where(rng.random(160) < hard / 4, np.roll(speakers, 1), speakers),
    }
    return tc.count_diarization(right, said, name=name)


def searches() -> tuple[SearchDescription, ...]:
    """What the two searches of `truecost demo terms` hold."""
    study = files("truecost") / "data" / "demo" / "terms" / "study.toml"
    [part] = tc.run(tc.Study.read(str(study))).parts
    return part.described_as(SearchDescription)


def sweep() -> tc.Outcome:
    """Two strategies with four budgets on handwritten digits, as in docs/pictures.md."""
    study = {
        "task": "stream",
        "source": {"name": "digits", "targets": ["3", "8"], "items": 900},
        "loop": {"batch": 30, "seeds": 3, "passive": True},
        "sweep": {"budgets": [1, 2, 4, 8], "strategies": ["margin", "random"]},
        "interval": {"replicates": 200},
    }
    with TemporaryDirectory() as folder:
        return run_live(tc.Study.of(study), folder)


def digits() -> Figure:
    """IMLM and detection cost against the questions, as `truecost demo stream` finds them."""
    study = tc.Study.read(str(files("truecost") / "data" / "demo" / "stream" / "study.toml"))
    with TemporaryDirectory() as folder:
        rows = run_live(study, folder).estimates
    figure = Figure(figsize=(10.5, 4.4), layout="constrained", facecolor="white")
    for measure, ax in zip(("imlm", "act_dcf"), figure.subplots(1, 2), strict=True):
        plots.budgets([r for r in rows if r.measure == measure], ax)
    return figure


def planes() -> list[Plane]:
    """Both ratios over the thresholds of a made-up candidate, as in docs/abba.md."""
    rng, items = np.random.default_rng(4), 9000
    user, label = rng.integers(0, 400, items), (rng.random(items) < 0.3).astype(int)
    sound = 4 * label - 2 + rng.normal(0, 1.4, items)
    a, b = (sound + rng.normal(0, spread, items) for spread in (1.1, 0.8))
    kept = np.where(user % 2, b >= 0, a >= 0.5)
    deployment = collected_items(
        np.array(["A", "B"])[user % 2][kept],
        score_a=a[kept],
        score_b=b[kept],
        label=label[kept],
        unit=user[kept],
        threshold_a=0.5,
        threshold_b=0.0,
        name="candidate",
    )
    return choose(deployment, tc.Scoring(), Choice(max_rfpr=1.0))[1]


def pictures(outcome: tc.Outcome) -> dict[str, Axes]:
    """One of each kind, by name of the file."""
    [part] = outcome.parts
    found, rows = curves.of(part), outcome.estimates
    whole = [r for r in rows if "subset" not in r.dims]
    gates = [tc.Gate(measure="act_dcf", max_upper=0.7), tc.Gate(measure="cllr", max_upper=0.35)]
    meetings = [diarized("old", 0.6), diarized("new", 0.4)]
    terms, swept = searches(), sweep()
    [margin] = [d for d in swept.described_as(OnlineDescription) if d.dims["system"] == "margin-2"]
    ders = [tc.score_system(system, tc.Scoring(measures=("der",)))[0] for system in meetings]
    return {
        "costs": plots.cost_bars([r for r in whole if r.naive == 1]),
        "det": plots.det(found.det),
        "threshold": plots.cost_against_threshold(found.cost),
        "reliability": plots.reliability(found.reliability),
        "subsets": plots.forest([r for r in rows if r.measure == "act_dcf"]),
        "comparison": plots.differences(
            [c for c in outcome.comparisons if "subset" not in c.difference.dims]
        ),
        "gates": plots.gates(check(gates, whole)),
        "errors": plots.error_breakdown(ders),
        "units": plots.by_unit([units_of(s, row) for s, row in zip(meetings, ders, strict=True)]),
        "plane": plots.trade_off(planes()),
        "terms-det": plots.det_of_terms(terms),
        "terms-threshold": plots.twv_by_threshold(terms),
        "terms-queries": plots.queries_in_order(terms),
        "terms-scores": plots.score_map(terms[1]),
        "budgets": plots.budgets([r for r in swept.estimates if r.measure == "imlm"]),
        "phases": plots.phases(margin),
    }


def main() -> None:
    """Write all of them beside this file."""
    place = Path(__file__).parent
    with plots.style(INK):
        outcome = demo()
        plots.save(picture(outcome).axes[0], place / "demo.svg")
        plots.save(digits().axes[0], place / "stream-digits.svg")
        for name, ax in pictures(outcome).items():
            plots.save(ax, place / f"{name}.svg")


if __name__ == "__main__":
    main()
