"""Calibration: monotone maps from scores to log-likelihood ratios or log-posteriors.

Each method is a frozen calibrator with a static `fit` and a call that maps new scores:

- `affine`: scale and offset by logistic regression (`Affine`, `AffineClasses`);
- `temperature`: a scale alone (`Temperature`, `TemperatureClasses`);
- `pav`: pool adjacent violators, the best monotone step function (`Pav`);
- `spline`: monotone P-spline logistic regression (`Spline`);
- `poly3`: a cubic polynomial by least squares, or the spline where it is no probability (`Cubic`).

Conventions: natural logarithms; class 1 is the target; a calibrator of detection maps scores (N,)
to log-likelihood ratios (N,), one of classes maps log-scores (N, K) to log-posteriors (N, K) at its
`priors`. `METHODS` registers them by name; `tasks.trials.calibrating` trains them on other data or
cross-fitted. `CalibrationTable` is what a calibration leaves open: the method, its options, and the
folds of cross-fitting.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, ClassVar

from truecost.lazy import attach
from truecost.names import CalibrationMethod
from truecost.options import FOLDS, Option, PartialTable

if TYPE_CHECKING:
    from truecost.calibration.affine import Affine as Affine
    from truecost.calibration.affine import AffineClasses as AffineClasses
    from truecost.calibration.affine import Temperature as Temperature
    from truecost.calibration.affine import TemperatureClasses as TemperatureClasses
    from truecost.calibration.base import Calibrator as Calibrator
    from truecost.calibration.base import Kind as Kind
    from truecost.calibration.base import TwoClasses as TwoClasses
    from truecost.calibration.methods import METHODS as METHODS
    from truecost.calibration.methods import Cubic as Cubic
    from truecost.calibration.methods import Pav as Pav
    from truecost.calibration.spline import Spline as Spline
else:
    __getattr__, __dir__, __all__ = attach(__name__, __file__)

OF_METHODS = ("laplace", "ridge")  # options of methods: each is named in the `METHODS` that have it


class CalibrationTable(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """`[calibration]`: method of calibration, and the trials that it is fitted on."""

    __table__: ClassVar[str] = "calibration"
    __group__: ClassVar[str] = "Calibration"

    train: Annotated[
        str | dict[str, str] | None,
        Option(
            "File to fit the calibration on, or one for each system by name; without it scores "
            "are cross-fitted.",
            file=True,
            verbs=("study",),  # the command has it in front
        ),
    ] = None
    method: Annotated[
        CalibrationMethod | None,
        Option("Method of calibration (truecost list methods).", default="affine"),
    ] = None
    train_key: Annotated[
        str | None, Option("Key of TRAIN, if it differs from that of EVAL.", file=True)
    ] = None
    train_metadata: Annotated[
        tuple[str, ...],
        Option(
            "Metadata of TRAIN, if they differ from those of EVAL; may be repeated.",
            file=True,
            sided="COLUMN=FILE or FILE",
        ),
    ] = ()
    folds: Annotated[
        int | None,
        replace(
            FOLDS,
            help="Number of folds for cross-fitting, if there is no EVAL; all trials of a unit are "
            "in one fold.",
        ),
    ] = None
    fold: Annotated[
        str | None, Option("Column with the fold of each trial, instead of random folds.")
    ] = None
    in_sample: Annotated[
        bool | None,
        Option(
            "Fit on the scored trials themselves: the result is optimistic, a bound on what "
            "calibration can reach."
        ),
    ] = None
    laplace: Annotated[
        bool | None,
        Option(
            "Use Laplace's rule (method pav), so that likelihood ratios at both ends stay finite."
        ),
    ] = None
    ridge: Annotated[
        float | None,
        Option(
            "Ridge penalty on the scale of method affine; needed if the scores separate the "
            "classes without an error.",
            default=0.0,
            shown="0",
            ge=0,
        ),
    ] = None
