"""Draw the picture of the README from the demo's result: python docs/pictures/draw.py."""

from importlib.resources import files
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

import truecost as tc
from truecost import study
from truecost.report import curves, plots

INK = "#30363d"


def demo() -> study.Outcome:
    """The outcome of `truecost demo`, without subsets."""
    folder = files("truecost") / "data" / "demo"
    columns = {"id": "trial", "score": "score", "label": "label", "unit": "speaker"}
    scoring = tc.Scoring(tc.Application.detection(prior=0.05))
    paths = [f"{name}={folder / name}.csv" for name in ("logistic", "network")]
    return study.run(paths, tc.Options("llr", columns), scoring, compare=True)


def picture(outcome: study.Outcome) -> Figure:
    """Normalised costs beside DET curves."""
    figure = Figure(figsize=(10.5, 4.4), layout="constrained", facecolor="white")
    left, right = figure.subplots(1, 2, width_ratios=(1.25, 1))
    costs = ("act_dcf", "min_dcf", "cllr", "min_cllr")
    plots.cost_bars([r for r in outcome.estimates if r.measure in costs], left)
    plots.det(curves.curves_of(outcome), right)
    return figure


def main() -> None:
    """Write demo.svg beside this file."""
    ink = {key: INK if value == plots.INK else value for key, value in plots.STYLE.items()}
    with mpl.rc_context(ink):
        figure = picture(demo())
        target = Path(__file__).with_name("demo.svg")
        figure.savefig(target, facecolor="white", metadata={"Date": None, "Creator": None})
        text = target.read_text(encoding="utf-8").replace(plots.INK, INK)
        target.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
