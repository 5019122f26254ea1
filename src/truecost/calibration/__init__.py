"""Calibration: monotone maps from scores to log-likelihood ratios or log-posteriors.

Each method is a frozen calibrator with a static `fit` and a call that maps new scores:

- `affine`: scale and offset by logistic regression (`Affine`, `AffineClasses`);
- `temperature`: a scale alone (`Temperature`, `TemperatureClasses`);
- `pav`: pool adjacent violators, the best monotone step function (`Pav`);
- `spline`: monotone P-spline logistic regression (`Spline`).

Conventions: natural logarithms; class 1 is the target; a calibrator of detection maps scores (N,)
to log-likelihood ratios (N,), one of classes maps log-scores (N, K) to log-posteriors (N, K) at its
`priors`. `tasks.calibrating` trains them on other data or cross-fitted.
"""

from truecost.calibration.affine import Affine, AffineClasses
from truecost.calibration.base import Calibrator, TwoClasses
from truecost.calibration.pav import Pav
from truecost.calibration.spline import Spline
from truecost.calibration.temperature import Temperature, TemperatureClasses
from truecost.errors import UsageError

__all__ = [
    "METHODS",
    "Affine",
    "AffineClasses",
    "Calibrator",
    "Pav",
    "Spline",
    "Temperature",
    "TemperatureClasses",
    "TwoClasses",
    "check_method",
]

METHODS: dict[str, str] = {
    "affine": "scale and offset by prior-weighted logistic regression; classes: a scale, K offsets",
    "temperature": "a scale alone",
    "pav": "pool adjacent violators: the best monotone step function (two classes)",
    "spline": "monotone P-spline logistic regression (two classes)",
}
"""The methods by name, with what each does."""


def check_method(method: str) -> None:
    """Refuse a method that is not known: UsageError."""
    if method not in METHODS:
        raise UsageError(f"method {method!r} is not known: choose one of {', '.join(METHODS)}")
