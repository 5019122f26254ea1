"""What is odd about scores, for the application that they are scored for."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from truecost.core.results import Estimate
from truecost.core.scoring import Scoring
from truecost.errors import counted
from truecost.names import POSTERIORS
from truecost.study.columns import NONE_BELOW
from truecost.tasks.trials.counting import bayes_threshold, class_shares
from truecost.tasks.trials.options import TrialsScoring
from truecost.tasks.trials.records import Trials

if TYPE_CHECKING:
    from truecost.study.outcome import Part

HINT = (
    f"{NONE_BELOW}, which is odd: if the scores are posteriors say --type posterior, if they are "
    f"only scores --type score"
)


def problems_of(part: "Part", trials: Trials) -> list[str]:
    """What is odd about scores, and truths that were given probability 0."""
    found = _of_scores(trials, part.scoring[trials.name])
    impossible = _impossible(part.estimates, trials.name)
    if impossible:
        mend = "calibrate with --laplace" if trials.kind == "llr" else "mend it, or say --clip P"
        give = f"{counted(impossible, 'trial', 'give')} {'its' if impossible == 1 else 'their'}"
        found.append(f"{give} true class probability 0, which costs infinity: {mend}")
    return found


def _of_scores(trials: Trials, scoring: Scoring) -> list[str]:
    """What is odd about the scores for this application, and what was taken for granted."""
    found = []
    if trials.kind == "llr" and trials.scores.min() >= 0:
        found.append(HINT)
    if trials.kind == "llr" and (at := bayes_threshold(trials, scoring)) is not None:
        low, high = trials.scores.min(), trials.scores.max()
        if not low < at <= high:
            what = "no score reaches" if high < at else "every score reaches"
            found.append(
                f"{what} the threshold {at:.3g} (they go from {low:.3g} to {high:.3g}): if they "
                f"are no likelihood ratios, calibrate them or say --type score"
            )
    if (
        trials.kind in POSTERIORS
        and scoring.chosen(TrialsScoring).training_prior is None
        and scoring.application.priors is not None
    ):
        share = f"prior {class_shares(trials)[1]:.4g}, the share of targets"
        found.append(
            f"its posteriors are taken to contain the "
            f"{share if trials.detection else 'shares of the classes'} in the data; "
            f"--training-prior says otherwise"
        )
    return found


def _impossible(estimates: Sequence[Estimate], system: str) -> float:
    own = (e for e in estimates if e.dims["system"] == system and "subset" not in e.dims)
    return max((e.counts.get("impossible", 0) for e in own), default=0)
