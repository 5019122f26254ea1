"""What a reader should know of a run: faults of the data, then advice on the choices made."""

from collections.abc import Sequence

from truecost.measures.base import Measure
from truecost.results import Estimate
from truecost.study.outcome import Part, Problem
from truecost.tasks.records import Trials
from truecost.tasks.trials import measures_for

HINT = (
    "no log likelihood ratio is below 0, which is odd: if the scores are posteriors say --type "
    "posterior, if they are only scores --type score"
)
ADVICE = {
    "trials_as_units": "no unit was named, so each trial is resampled on its own: when trials "
    "share a speaker or session the intervals are too narrow; --map unit=COLUMN",
    "few_units": "fewer than 20 units: the interval covers less than it says (a 95 % one about "
    "0.92 at 20 units and 0.83 at 6)",
    "few_runs": "fewer than 20 runs: as far as runs vary, the interval covers less than it says "
    "(were all variation in the runs, a 95 % one of the mean about 0.83 with 5 runs and 0.90 with "
    "10, of one run 0.66 and 0.81)",
    "few_errors": "fewer than 10 errors of the kind that a measure counts: its interval rests on "
    "very few events",
    "no_spread": "an interval without width: no replicate differs from the value, so the data have "
    "too few errors or units to say how sure it is",
    "crossed": "crossed factors: the interval is conservative, up to three times the variance "
    "where the noise is that of single trials",
    "undefined_replicates": "in some replicates a measure is undefined: they are counted and left "
    "out of its interval",
}

SIDES = {
    "trials_as_units": "no unit was named, so each trial is resampled on its own: trials of the "
    "same speakers make the intervals too narrow; with a file of speakers (id, speaker) say "
    "--metadata enroll=FILE --metadata test=FILE --map unit=enroll.speaker+test.speaker"
}


def problems_of(parts: Sequence[Part]) -> list[Problem]:
    """Faults of the data of each part, then advice; each is said once.

    Parameters
    ----------
    parts : sequence of Part

    Returns
    -------
    list of Problem
    """
    found = [p for part in parts for p in _faults(part)]
    found += [p for part in parts for p in _on_measures(part)]
    flags = {flag for part in parts for e in part.estimates for flag in e.flags}
    texts = ADVICE | (SIDES if any(map(_is_trial_list, parts)) else {})
    found += [Problem(kind="advice", message=text) for flag, text in texts.items() if flag in flags]
    return list(dict.fromkeys(found))


def _is_trial_list(part: Part) -> bool:
    """Whether a trial is a pair of an enrolment and a test."""
    return any({"enroll", "test"} <= set(t.frame.columns) for t in part.systems)


def _faults(part: Part) -> list[Problem]:
    where = f"{part.dims['collection']}, " if "collection" in part.dims else ""
    said = [f"{where}{t.name}: {text}" for t in part.systems for text in _of_trials(part, t)]
    return [Problem(kind="data", message=text) for text in said]


def _of_trials(part: Part, trials: Trials) -> list[str]:
    """What the data of one system suffer from."""
    found = list(trials.problems)
    if trials.kind == "llr" and trials.scores.min() >= 0:
        found.append(HINT)
    for subset in part.scoring[trials.name].subsets:
        name = subset if isinstance(subset, str) else subset[1]
        if empty := trials.empty_cells(name):
            found.append(f"{empty} trials have no {name}: in no subset of it")
    impossible = _impossible(part.estimates, trials.name)
    if impossible:
        mend = "calibrate with --laplace" if trials.kind == "llr" else "mend it, or say --clip P"
        trials_give = "trial gives its" if impossible == 1 else "trials give their"
        found.append(
            f"{impossible:g} {trials_give} true class probability 0, which costs infinity: {mend}"
        )
    return found


def _impossible(estimates: Sequence[Estimate], system: str) -> float:
    own = (e for e in estimates if e.dims["system"] == system and "subset" not in e.dims)
    return max((e.counts.get("impossible", 0) for e in own), default=0)


def _on_measures(part: Part) -> list[Problem]:
    """The advice of measures that were asked for by name."""
    asked: dict[Measure, None] = {}
    for trials in part.systems:
        scoring = part.scoring[trials.name]
        names = set(scoring.measures)
        asked |= {m: None for m in measures_for(trials, scoring) if {m.name, m.label} & names}
    return [Problem(kind="advice", message=f"{m.label}: {m.advice}") for m in asked if m.advice]
