"""What is fitted to trials: the method with its options, the scores it reads and its priors."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from truecost.calibration import METHODS, Calibrator, Kind, TwoClasses
from truecost.core.application import Application
from truecost.core.bayes import log_normalise
from truecost.core.scoring import Scoring
from truecost.errors import InputError, UsageError
from truecost.tasks.trials.counting import llrs
from truecost.tasks.trials.options import TrialsScoring
from truecost.tasks.trials.records import Trials

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Fitting:
    """A method of calibration with all that enters the fit.

    Parameters
    ----------
    method : str
        A key of `truecost.calibration.METHODS`.
    detection : bool
        Whether likelihood ratios are wanted, rather than log-posteriors of classes.
    training_prior : tuple of float, optional
        Priors of the classes that posteriors contain; the shares in the training trials when left
        out, which `of` fills in.
    priors : tuple of float
        Of the classes in the loss; filled in by `of`.
    clip : float, optional
        Least probability that posteriors give a class.
    options : mapping of str to number
        Options of the method; those that are 0 or False change nothing, nor the signature.
    """

    method: str
    detection: bool
    training_prior: tuple[float, ...] | None = None
    priors: tuple[float, ...] = ()
    clip: float | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise UsageError(
                f"method {self.method!r} is not known: choose one of {', '.join(METHODS)}"
            )
        for name, value in self.options.items():
            _check_option(self.method, name, value)

    @property
    def kind(self) -> Kind:
        """The method."""
        return METHODS[self.method]

    @property
    def chosen(self) -> dict[str, Any]:
        """The options that change something, in the order of the method."""
        given = self.options
        return {name: given[name] for name in self.kind.options if given.get(name)}

    def of(self, shares: Floats, application: Application) -> "Fitting":
        """With the priors that the training trials and the application give.

        Parameters
        ----------
        shares : ndarray of float64, shape (K,)
            Of the classes in the training trials and in no others; each above 0.
        application : Application
            For detection its effective prior counts, for classes its priors.
        """
        if len(shares) != 2 and self.kind.of_classes is None:
            others = [name for name, kind in METHODS.items() if kind.of_classes is not None]
            raise UsageError(
                f"method {self.method} needs two classes, the data have {len(shares)}: "
                f"name one with --target, or take {' or '.join(others)}"
            )
        contained = tuple(shares.tolist()) if self.training_prior is None else self.training_prior
        if self.detection and application.plain_detection:
            p = application.with_priors(shares).effective_prior
            priors = (1 - p, p)
        else:
            application.matrix(len(shares))  # refuses costs for other classes
            priors = tuple(application.class_priors(shares[None])[0].tolist())
        return replace(self, priors=priors, training_prior=contained)

    def inputs(self, trials: Trials) -> Floats:
        """The scores to calibrate: likelihood ratios or scores (N,), or log-scores (N, K).

        Returns
        -------
        ndarray of float64
        """
        if trials.detection:
            # The shares of these trials are of no effect beside a training prior: none are taken.
            shares = self.priors or None
            own = TrialsScoring(self.training_prior, clip=self.clip, whole_shares=shares)
            return llrs(trials, Scoring(choices=own))
        with np.errstate(divide="ignore"):
            logs = np.log(trials.scores) if trials.kind == "posterior" else trials.scores
        if self.clip is not None:
            logs = log_normalise(np.maximum(log_normalise(logs), np.log(self.clip)))
        return logs

    def fit(
        self, scores: Floats, labels: npt.NDArray[np.int64], weights: Floats | None, where: str
    ) -> Calibrator:
        """The calibrator of training data.

        Parameters
        ----------
        scores : ndarray of float64, shape (N,) or (N, K)
            From `inputs`.
        labels : ndarray of int64, shape (N,)
        weights : ndarray of float64, shape (N,), optional
        where : str
            The data, for messages.

        Raises
        ------
        InputError
            When the data cannot be fitted.
        """
        try:
            if self.detection:
                return self._of_scores(scores, labels, weights)
            if self.kind.of_classes is None:
                with np.errstate(invalid="ignore"):
                    odds = scores[:, 1] - scores[:, 0]
                return TwoClasses(self._of_scores(odds, labels, weights), self.priors)
            return self.kind.of_classes(
                scores,
                labels,
                weights=weights,
                priors=self.priors,
                training=self.training_prior,
                **self.chosen,
            )
        except InputError as error:
            raise InputError(f"{where}: {error}") from error

    def _of_scores(
        self, scores: Floats, labels: npt.NDArray[np.int64], weights: Floats | None
    ) -> Calibrator:
        prior = {"prior": self.priors[1]} if self.kind.at_prior else {}
        return self.kind.of_scores(scores, labels, weights=weights, **prior, **self.chosen)

    def said(
        self, trained: str, kind: str, given: tuple[float, ...] | None, empirical: str = ""
    ) -> str:
        """The words of the signature.

        Parameters
        ----------
        trained : str
            Where the calibrators come from.
        kind : str
            Score type of the trials as they were.
        given : tuple of float or None
            The training prior as the user gave it.
        empirical : str
            Said in place of the priors, where each fit has those of its own training trials.
        """
        words = ["calibrated", self.method, trained]
        words += [n if v is True else f"{n}-{v:g}" for n, v in self.chosen.items()]
        if self.kind.at_prior:
            own = _numbers(self.priors[1:] if self.detection else self.priors)
            words.append(f"prior-{empirical or own}")
        said = [":".join(words)]
        if given is not None and kind not in ("llr", "score"):
            said.append(f"training-prior:{_numbers(given)}")
        if self.clip is not None:
            said.append(f"clip:{self.clip:g}")
        return "|".join(said)


def _numbers(values: tuple[float, ...]) -> str:
    return ",".join(f"{value:.6g}" for value in values)


def _check_option(method: str, name: str, value: Any) -> None:
    """Refuse an option that the method does not have, unless it is off: UsageError."""
    if name in METHODS[method].options:
        return
    takers = [other for other, kind in METHODS.items() if name in kind.options]
    if not takers:
        own = ", ".join(METHODS[method].options) or "none"
        raise UsageError(f"method {method} has no option {name!r}: its options are {own}")
    if value:
        raise UsageError(f"option {name} is for method {' and '.join(takers)}, not for {method}")
