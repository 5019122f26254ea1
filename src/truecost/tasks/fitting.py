"""What is fitted to trials: the method with its options, the scores it reads and its priors."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from truecost.application import Application
from truecost.bayes import log_normalise
from truecost.calibration import (
    METHODS,
    Affine,
    AffineClasses,
    Calibrator,
    Pav,
    Spline,
    Temperature,
    TemperatureClasses,
    TwoClasses,
)
from truecost.errors import InputError, UsageError
from truecost.tasks.counting import class_shares, llrs
from truecost.tasks.records import Trials
from truecost.tasks.scoring import Scoring

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
    laplace : bool
        Laplace's rule, for `pav`.
    ridge : float
        Ridge on the scale, for `affine`.
    """

    method: str
    detection: bool
    training_prior: tuple[float, ...] | None = None
    priors: tuple[float, ...] = ()
    clip: float | None = None
    laplace: bool = False
    ridge: float = 0.0

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise UsageError(
                f"method {self.method!r} is not known: choose one of {', '.join(METHODS)}"
            )
        if self.laplace and self.method != "pav":
            raise UsageError(f"Laplace's rule is for method pav, not for {self.method}")
        if self.ridge and self.method != "affine":
            raise UsageError(f"a ridge is for method affine, not for {self.method}")

    def of(self, source: Trials, application: Application) -> "Fitting":
        """With the priors that the training trials and the application give.

        Parameters
        ----------
        source : Trials
            With at least one trial of each class.
        application : Application
            For detection its effective prior counts, for classes its priors.

        Returns
        -------
        Fitting
        """
        if len(source.classes) != 2 and self.method in ("pav", "spline"):
            raise UsageError(
                f"method {self.method} needs two classes, the data have {len(source.classes)}: "
                f"name one with --target, or take affine or temperature"
            )
        shares = class_shares(source)
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

        Parameters
        ----------
        trials : Trials

        Returns
        -------
        ndarray of float64
        """
        if trials.detection:
            return llrs(trials, Scoring(training_prior=self.training_prior, clip=self.clip))
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

        Returns
        -------
        Calibrator

        Raises
        ------
        InputError
            When the data cannot be fitted.
        """
        try:
            if self.detection:
                return self._of_scores(scores, labels, weights)
            if self.method in ("pav", "spline"):
                with np.errstate(invalid="ignore"):
                    odds = scores[:, 1] - scores[:, 0]
                return TwoClasses(self._of_scores(odds, labels, weights), self.priors)
            return self._of_classes(scores, labels, weights)
        except InputError as error:
            raise InputError(f"{where}: {error}") from error

    def _of_scores(
        self, scores: Floats, labels: npt.NDArray[np.int64], weights: Floats | None
    ) -> Calibrator:
        prior = self.priors[1]
        if self.method == "pav":
            return Pav.fit(scores, labels, weights=weights, laplace=self.laplace)
        if self.method == "spline":
            return Spline.fit(scores, labels, prior=prior, weights=weights)
        if self.method == "temperature":
            return Temperature.fit(scores, labels, prior=prior, weights=weights)
        self._must_be("affine")
        return Affine.fit(scores, labels, prior=prior, weights=weights, ridge=self.ridge)

    def _of_classes(
        self, scores: Floats, labels: npt.NDArray[np.int64], weights: Floats | None
    ) -> Calibrator:
        priors = self.priors
        if self.method == "temperature":
            return TemperatureClasses.fit(
                scores, labels, priors=priors, training=self.training_prior, weights=weights
            )
        self._must_be("affine")
        return AffineClasses.fit(scores, labels, priors=priors, weights=weights, ridge=self.ridge)

    def _must_be(self, method: str) -> None:
        """A method that was registered but is not fitted here must not pass for another one."""
        if self.method != method:
            raise AssertionError(f"nothing fits method {self.method}")

    def said(self, trained: str, kind: str, given: tuple[float, ...] | None) -> str:
        """The words of the signature.

        Parameters
        ----------
        trained : str
            Where the calibrators come from.
        kind : str
            Score type of the trials as they were.
        given : tuple of float or None
            The training prior as the user gave it.

        Returns
        -------
        str
        """
        words = ["calibrated", self.method, trained]
        words += ["laplace"] if self.laplace else []
        words += [f"ridge-{self.ridge:g}"] if self.ridge else []
        if self.method != "pav":  # whose fit is the best at every prior
            words.append("prior-" + _numbers(self.priors[1:] if self.detection else self.priors))
        said = [":".join(words)]
        if given is not None and kind not in ("llr", "score"):
            said.append(f"training-prior:{_numbers(given)}")
        if self.clip is not None:
            said.append(f"clip:{self.clip:g}")
        return "|".join(said)


def _numbers(values: tuple[float, ...]) -> str:
    return ",".join(f"{value:.6g}" for value in values)
