"""The scores under the policies of users from version to version (paper 004, Eq. 2 and 3)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from truecost.report.plots.look import (
    COLOURS,
    DASHES,
    MARKERS,
    WIDE,
    finish,
    ink,
    legend_below,
    legend_height,
    needed,
    new_axes,
    width_of,
)
from truecost.report.plots.policies import (
    BESIDE,
    Found,
    floats,
    penalised,
    plain,
    policy_handles,
    state_of,
)
from truecost.report.plots.score_matrix import POLICIES
from truecost.report.plots.shades import scale_in
from truecost.report.plots.timeline import name_times, upright
from truecost.tasks.lifelong.descriptions import PolicyCurve


def figures_of(policy: PolicyCurve, found: Found) -> dict[str, Any]:
    """Figures of a policy by version, with the penalty where there is one."""
    wanted = "penalised_score" if state_of(found) == "penalised" else "policy_score"
    own = [f for f in policy.figures if f.measure == wanted]
    own = own or [f for f in policy.figures if f.measure == "policy_score"]
    return {f.version: f for f in own}


def policy_versions(found: Found, ax: Axes | None = None) -> Axes:
    """The score under each policy from version to version, the initial one dotted beside it.

    Parameters
    ----------
    found : LifelongDescription
        Of a system of a result.

    Raises
    ------
    UsageError
        When there is no policy with figures of versions.

    Examples
    --------
    >>> from truecost.report import plots
    >>> from truecost.tasks.lifelong.descriptions import (
    ...     LifelongDescription,
    ...     PolicyCurve,
    ...     PolicyFigure,
    ... )
    >>> said = [PolicyFigure(version=v, measure="policy_score", value=0.2) for v in ("1", "2")]
    >>> mine = LifelongDescription(
    ...     dims={"system": "mine"},
    ...     score="wer",
    ...     title="Word error rate",
    ...     direction="lower",
    ...     versions=["0", "1", "2"],
    ...     learnt=[None, 1, 2],
    ...     times=["1.5"],
    ...     at=[1.5],
    ...     cells=[],
    ...     policies=[PolicyCurve(name="uniform", says="", weights=[], figures=said)],
    ... )
    >>> plots.policy_versions(mine).get_xlabel()
    'version'
    """
    shown = [p for p in found.policies[:POLICIES] if p.figures]
    needed(shown, "no policy has a figure for any version")
    ax = ax or new_axes(WIDE, policy_versions_height(found))
    for k, policy in enumerate(shown):
        _versions(ax, found, policy, k, many=len(shown) > 1)
    count = len(found.versions)
    ax.set_xlim(-0.3, count - 0.7)
    name_times(ax, range(count), found.versions, width_of(ax) - 2 * BESIDE)
    scale = scale_in(found.shown_in)
    ax.yaxis.set_major_formatter(lambda y, _: plain(y, scale))
    ax.set_xlabel("version")
    ax.set_ylabel(upright(f"{penalised(state_of(found))}{found.score}"))
    legend_below(ax, _version_handles(shown))
    return finish(ax, grid="y")


def _versions(ax: Axes, found: Found, policy: PolicyCurve, k: int, *, many: bool) -> None:
    """Line, band and frozen reference of one policy."""
    figures = figures_of(policy, found)
    kept = [(x, figures[v]) for x, v in enumerate(found.versions) if v in figures]
    if not kept:
        return
    at = [x for x, _ in kept]
    lower, upper = (floats([getattr(f, n) for _, f in kept]) for n in ("lower", "upper"))
    known = np.isfinite(lower) & np.isfinite(upper)
    alpha = 0.12 if many else 0.2
    ax.fill_between(
        at, lower, upper, where=known.tolist(), color=COLOURS[k], alpha=alpha, linewidth=0
    )
    marks = {"marker": MARKERS[k], "markersize": 4.5} if len(at) <= 30 else {}
    look: dict[str, Any] = {"color": COLOURS[k], "linestyle": DASHES[k % len(DASHES)], **marks}
    ax.plot(at, floats([f.value for _, f in kept]), linewidth=1.6, **look)
    frozen = floats([f.naive for _, f in kept])
    ax.plot(at, frozen, color=COLOURS[k], linewidth=1.0, linestyle=(0, (1, 1.5)))


def _version_handles(shown: Sequence[PolicyCurve]) -> list[Any]:
    handles = policy_handles([p.name for p in shown])
    if any(f.naive is not None for p in shown for f in p.figures):
        look: Any = {"linewidth": 1.0, "linestyle": (0, (1, 1.5))}
        handles.append(Line2D([], [], color=ink(), label="initial version, frozen", **look))
    return handles


def policy_versions_height(found: Found, width: float = WIDE) -> float:
    """Height in inches that shows these curves at a width in inches."""
    labels = [str(h.get_label()) for h in _version_handles(found.policies[:POLICIES])] or [""]
    return 2.8 + legend_height(labels, width)
