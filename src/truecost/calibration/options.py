"""What a calibration leaves open: the method, its options, and the folds of cross-fitting."""

from dataclasses import replace
from typing import Annotated, ClassVar

from truecost.names import CalibrationMethod
from truecost.options import FOLDS, Option, PartialTable

OF_METHODS = ("laplace", "ridge")  # options of methods: each is named in the `METHODS` that have it


class CalibrationTable(PartialTable, frozen=True, kw_only=True):
    """What is fitted, and to which trials."""

    __group__: ClassVar[str] = "Calibration"

    method: Annotated[
        CalibrationMethod | None,
        Option(
            help="How scores become likelihood ratios. See: truecost list methods.",
            default="affine",
        ),
    ] = None
    train_key: Annotated[
        str | None, Option(help="Key of TRAIN, where it is not that of EVAL.", file=True)
    ] = None
    train_metadata: Annotated[
        tuple[str, ...],
        Option(
            help="Metadata of TRAIN, where they are not those of EVAL; may be repeated.",
            file=True,
            sided=True,
        ),
    ] = ()
    folds: Annotated[
        int | None,
        replace(FOLDS, help="Folds of whole units for cross-fitting, when no EVAL is given."),
    ] = None
    fold: Annotated[
        str | None, Option(help="Column with the fold of each trial, in place of dealt ones.")
    ] = None
    in_sample: Annotated[
        bool | None,
        Option(help="Fit on the trials that are scored: optimistic, a bound for the scores."),
    ] = None
    laplace: Annotated[
        bool | None,
        Option(help="Laplace's rule for pav: finite likelihood ratios at the ends."),
    ] = None
    ridge: Annotated[
        float | None,
        Option(
            help="Ridge on the scale of affine, for scores that separate the classes.",
            default=0.0,
            shown="0",
            ge=0,
        ),
    ] = None
