"""The sections of the page of trials that show curves: errors and threshold, reliability; and those
of several classes.

A picture a collection, and once more for each application where the curves depend on it.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from truecost.core.digits import counted, percent
from truecost.pictures.look import SYSTEMS
from truecost.pictures.picture import Picture
from truecost.pictures.tables import Table
from truecost.report.section import Section, Sliders, joined
from truecost.report.sections import of_each
from truecost.report.story import Part, Story
from truecost.tasks.trials import pictures
from truecost.tasks.trials.classes import ByClass
from truecost.tasks.trials.curves import Curves, from_frame

SHAPES = {  # what tells curves of applications apart, points in use left out; costs always differ
    "det": ("p_miss", "p_fa", "lower"),
    "cost": (),
    "reliability": ("said", "seen", "bin_said"),
}
MOST_SYSTEMS = 60  # curves of one picture; eight of them in colour


def curves_of(story: Story) -> tuple[Curves, ...]:
    """The curves of a result, by part."""
    return story.read(from_frame)


def trade_off(story: Story) -> Section:
    """Errors and threshold: DET curves, and what each threshold costs."""
    found = (
        *_pictures(story, "det", partial(pictures.det, per_hour=per_hour(story))),
        *_pictures(story, "cost", pictures.cost_against_threshold),
    )
    text = (
        "Every threshold is a point: moving it trades misses for false alarms, at a cost that "
        "depends on the prior. The height between dot and ring is the saving of the best threshold."
    )
    costs = [c for curves in curves_of(story) for c in curves.cost]
    if any(c.actual is None for c in costs):
        text += (
            " Without a deployed threshold, the ring marks the threshold of least cost for these "
            "data."
        )
    applications = list(dict.fromkeys(part.application for part in story.parts))
    if len(applications) > 1:
        text += f" The DET points are for the application {applications[0]}."
    return Section("Errors and threshold", text, found, sliders=_sliders(story))


def per_hour(story: Story) -> float:
    """Nontargets an hour of audio, of the whole data; 0 where the hours are not known, or are not
    the same for all.
    """
    found = {
        row.counts["nontargets"] / row.counts["hours"]
        for row in story.whole
        if row.dims.get("data") != "test"
        and row.counts.get("hours")
        and row.counts.get("nontargets")
        if "weighted" not in row.signature.split("|")  # they are no counts of the audio then
    }
    return found.pop() if len(found) == 1 else 0.0


def _sliders(story: Story) -> Sliders | None:
    """The numbers behind the sliders: of one part, with known costs and prior."""
    [curves, *others] = curves_of(story) or (None,)
    row = next((r for r in story.whole if r.label in ("act_dcf", "min_dcf")), None)
    if row is None or curves is None or others or not curves.cost or not curves.det:
        return None
    prior, costs = row.parameters.get("prior"), row.parameters.get("costs", "0/1")
    if prior == "empirical":
        prior = row.counts["targets"] / (row.counts["targets"] + row.counts["nontargets"])
    if costs == "0/1":
        costs = {"miss": 1.0, "fa": 1.0}
    if not isinstance(prior, float) or not isinstance(costs, dict):
        return None
    first = curves.cost[0]
    used = first.actual or first.minimum or (float(np.median(first.steps)), 0.0)
    threshold = float(used[0]) if np.isfinite(used[0]) else float(first.steps[-1])
    known = {c.system: c for c in curves.cost}
    return Sliders(
        start=int(np.argmin(np.abs(first.steps - threshold))),
        prior=prior,
        miss=costs["miss"],
        fa=costs["fa"],
        bayes=first.unit == "llr",
        thresholds=first.steps.tolist(),
        per_hour=per_hour(story),
        systems=[
            {"system": n, "miss": known[n].step_miss.tolist(), "fa": known[n].step_fa.tolist()}
            for n in story.systems[:SYSTEMS]
            if n in known
        ],
    )


def calibration(story: Story) -> Section:
    """Predicted against empirical probabilities, with the decomposition of Cllr."""
    text = (
        "A system on the diagonal is calibrated, but not necessarily good: one that always "
        "predicts the prior is there too. Above: the frequencies of the predictions."
    )
    return Section("Calibration", text, _pictures(story, "reliability", pictures.reliability))


MOST_MATRICES = 3  # systems whose confusions are drawn, and whose classes have tables


def classes(story: Story) -> Section | None:
    """Recall and precision by class, and which classes are confused."""
    found = story.described_as(ByClass)
    if not found:
        return None
    parts: dict[str, list[ByClass]] = {}
    for one in found:
        parts.setdefault(", ".join(one.dims.values()), []).append(one)
    drawn: list[Picture] = []
    tables: list[Table] = []
    for part, own in parts.items():
        own.sort(key=lambda one: story.systems.index(one.system))
        few = own[:SYSTEMS]
        drawn += [
            pictures.rates(few, name, title=joined(name, part)) for name in ("recall", "precision")
        ]
        for one in own[:MOST_MATRICES]:
            title = joined("confusions", one.system * (len(own) > 1), part)
            drawn.append(pictures.confusions(one, title=title))
        for one in own[:MOST_MATRICES]:
            about = joined(one.system * (len(own) > 1), part)
            tables.append(pictures.of_confusions(one, joined("Costliest confusions", about)))
            tables.append(pictures.of_classes(one, joined("Classes", about)))
    return Section("Classes", _on_classes(found[0]), tuple(drawn), tuple(tables))


def _on_classes(found: ByClass) -> str:
    """The caption of the pictures of classes, with the costliest confusion."""
    text = "Recall and precision of each class, the costliest first."
    if worst := next(iter(found.wrong), None):
        share = percent(float(f"{worst.cost_share:.2g}"))
        text += (
            f" The costliest confusion of {found.system}: {worst.truth} decided as "
            f"{worst.decision}, {counted(worst.trials, 'trial')}, {share} of the cost."
        )
    return text


def costs_of_decisions(story: Story) -> Section | None:
    """The cost matrix, where it says more than right and wrong."""
    found = {
        one.dims.get("application", ""): one for one in story.described_as(ByClass) if one.costs
    }
    if not found:
        return None
    text = (
        "The table shows the given cost of each decision. A system makes the decision of least "
        "expected cost."
    )
    return Section("Cost matrix", text, of_each(pictures.cost_matrix, found))


def _pictures(story: Story, kind: str, draw: Callable[..., Picture]) -> tuple[Picture, ...]:
    """A picture for each part and scale; of applications that give the same curves only one."""
    curves: dict[str, Sequence[Any]] = {c.part: getattr(c, kind) for c in curves_of(story)}
    found: dict[Any, list[tuple[Part, list[Any]]]] = {}
    for part in story.parts:
        scales: dict[str, list[Any]] = {}  # curves of several share no axes
        for curve in curves.get(part.title, ()):
            scales.setdefault(getattr(curve, "scale", ""), []).append(curve)
        for scale, some in scales.items():
            of = part if kind == "cost" else dict(part.dims).get("collection")
            shapes = [(c.system, *(getattr(c, n).tobytes() for n in SHAPES[kind])) for c in some]
            found.setdefault((scale, of, *shapes), []).append((part, some))
    drawn = []
    for (part, some), *others in found.values():
        names = [name for key, name in part.dims if not (others and key == "application")]
        shown = some
        if len(some) > SYSTEMS:
            best = sorted(some, key=lambda c: story.systems.index(c.system))
            shown = best[:MOST_SYSTEMS]
        cut = f"The {len(shown)} best of {len(some)} systems" if len(some) > len(shown) else ""
        drawn.append(draw(shown, title=joined(cut, *names)))
    return tuple(drawn)
