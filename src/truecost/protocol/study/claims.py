"""What may be claimed of two methods: a sentence of what varied, what was held, and figures.

Paper 003, section 4.2: a result on one training list is about that list, and has to say so.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from truecost.core.claims import SingleRuns, shared_data
from truecost.core.digits import between, figure, percent, scale_of
from truecost.core.flags import FLAGS
from truecost.core.methods import Estimator, MethodEstimate
from truecost.core.results import Comparison
from truecost.errors import counted
from truecost.study.outcome import Problem
from truecost.tasks.trials.work import Claim

SHORT = 12  # digits of a hash that a sentence shows; result.json has all of them
RULE_SEED, RULE_LIST = "one-seed", "fixed-training-list"


@dataclass(frozen=True)
class Listed:
    """The training list of the runs.

    Attributes
    ----------
    name : str
        Of its file.
    group : str
        What was drawn whole; empty for rows.
    sets : int
        Training sets drawn from it; 0 when the runs were trained on the list itself.
    """

    name: str
    sha256: str
    group: str = ""
    sets: int = 0

    def __str__(self) -> str:
        return f"{self.name}, sha256 {self.sha256[:SHORT]}"


def claim_of(
    comparison: Comparison,
    system: MethodEstimate,
    baseline: MethodEstimate,
    listed: Listed | None,
    estimator: Estimator = "mean",
) -> Claim:
    """The sentence for one comparison.

    Parameters
    ----------
    comparison : Comparison
        As `compare_methods(system, baseline, estimator)` gives it.
    listed : Listed, optional
        The training list, where it is known.
    estimator : {"mean", "run"}
    """
    difference, verdict = comparison.difference, comparison.verdict
    names = (system.runs.method, baseline.runs.method)
    of = "one run of " if estimator == "run" else ""
    pair = tuple(f"{of}{name}" for name in names)
    scale = scale_of(difference.shown_in, True)
    ends = between(difference.lower, difference.upper, scale)
    apart = f"{figure(difference.value, scale)} {ends}".rstrip()
    interval = f"{percent(difference.level)} interval" if ends else "no interval"
    over = f"{interval} over {_over(system, baseline)}"
    alone = len(system.runs) == 1 or len(baseline.runs) == 1
    lower = difference.direction == "lower"
    side = "lower" if (verdict == "better") == lower else "higher"
    if alone:
        said = (
            f"nothing is claimed of the methods, for {names[0]} or {names[1]} was trained once; "
            f"these systems differ on {difference.label} by {apart} ({over})"
        )
    elif verdict == "inconclusive":
        which = "lower" if lower else "higher"
        said = (
            f"nothing is claimed about which of {pair[0]} and {pair[1]} has the {which} "
            f"{difference.label}: the difference is {apart} ({over})"
        )
    elif verdict == "same":
        said = f"{pair[0]} and {pair[1]} have the same {difference.label} throughout ({over})"
    else:
        mean = "" if of else ", on average over runs"
        said = (
            f"{pair[0]} has a {side} {difference.label} than {pair[1]}{mean}: the difference is "
            f"{apart} ({over})"
        )
    few = "few_runs" in difference.flags and not alone
    return Claim(
        system=names[0],
        against=names[1],
        measure=difference.label,
        dims={k: v for k, v in difference.dims.items() if k not in ("system", "estimator")},
        verdict="inconclusive" if alone else verdict,
        text=f"{_given(listed, system, baseline)}, {said}"
        + (f"; {FLAGS['few_runs'].caveat}" if few else ""),
    )


def _given(listed: Listed | None, system: MethodEstimate, baseline: MethodEstimate) -> str:
    """What the sentence holds for, at its head."""
    if listed is None:
        held = [*dict.fromkeys(k for m in (system, baseline) for k in m.runs.hold)]
        said = f" and {' and '.join(held)} held" if held else ""
        data = shared_data(system, baseline)
        such = f", such as {data}" if data else ""
        return f"with whatever else the runs share fixed{such}{said}"
    if not listed.sets:
        return f"with this training list fixed ({listed})"
    drawn = f"by {listed.group}" if listed.group else "row by row"
    how = f"{listed.sets} sets drawn {drawn}"
    return f"with training sets bootstrapped from this list ({listed}; {how})"


def _over(system: MethodEstimate, baseline: MethodEstimate) -> str:
    """What the interval is over: runs, then units of the test."""
    first = system.members[0]
    tests = first.units_by_factor or dict.fromkeys(first.factors, first.n_units)
    units = [f"{name} ({size})" for name, size in tests.items()]
    said = [_runs(method) for method in (system, baseline)]
    if said[0] == said[1]:
        runs = f"{said[0]} of each method" if said[0] else ""
    else:
        names = (system.runs.method, baseline.runs.method)
        runs = " and ".join(f"{s or '1 run'} of {n}" for s, n in zip(said, names, strict=True))
    test = f"units of the test: {', '.join(units)}" if units else ""
    return " and ".join(filter(None, [runs, test])) or "nothing"


def _runs(method: MethodEstimate) -> str:
    """How many runs of which kind: `20 training sets x 10 seeds`."""
    runs = method.runs
    sizes = {name: len(set(column)) for name, column in runs.levels.items()}
    if runs.sets in sizes and sizes[runs.sets] > 1:
        sets = sizes[runs.sets]
        each = len(runs) / sets
        return f"{sets} training sets x {counted(each, 'seed')}"
    return " x ".join(counted(n, k) for k, n in sizes.items() if n > 1 and k not in runs.hold)


def said_of(found: SingleRuns) -> str:
    """What single runs would have said, in a sentence."""
    share = {k: f"{100 * getattr(found, k) / found.pairs:.3g}%" for k in SIDES}
    same = f" of the same {found.within} set" if found.within else ""
    where = "".join(f" ({v})" for v in found.dims.values())
    return (
        f"single runs{where}: of {found.pairs} pairs of one run of {found.system} with one of "
        f"{found.against}{same}, the test alone ({percent(found.level)} interval of "
        f"{found.measure}) decides for {found.system} in {share['better']}, for {found.against} in "
        f"{share['worse']}, and not at all in {share['inconclusive']}"
    )


SIDES = ("better", "worse", "inconclusive")


def misleading(found: Sequence[SingleRuns], claims: Sequence[Claim]) -> list[Problem]:
    """Advice where single runs decide against each other, or against what all runs say.

    Parameters
    ----------
    claims : sequence of Claim
        Of the same comparisons.
    """
    problems = []
    for one, claim in zip(found, claims, strict=True):
        against = {"better": one.worse, "worse": one.better}.get(claim.verdict, 0)
        if one.better and one.worse:
            what = (
                f"decide for {one.system} in {one.better} cases and for {one.against} in "
                f"{one.worse}"
            )
        elif against:
            what = f"decide against what all runs say in {against} cases"
        else:
            continue
        problems.append(
            Problem(
                kind="advice",
                message=f"{one.measure}: {one.pairs} pairs of single runs {what}: one run of each "
                f"tells two systems apart, not two methods",
                rule=RULE_SEED,
            )
        )
    return problems


def on_one_list(listed: Listed | None) -> list[Problem]:
    """Advice where all runs were trained on one list."""
    if listed is not None and listed.sets:
        return []
    what = "all runs share their training data" if listed is None else f"{listed.name} is held"
    return [
        Problem(
            kind="advice",
            message=f"{what}: the figures are about these training data; bootstraps = 20 under "
            f"[training] tells what others would give",
            rule=RULE_LIST,
        )
    ]
