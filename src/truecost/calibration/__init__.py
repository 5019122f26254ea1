"""Calibration: monotone maps from scores to log-likelihood ratios or log-posteriors.

Each method is a frozen calibrator with a static `fit` and a call that maps new scores:

- `affine`: scale and offset by logistic regression (`Affine`, `AffineClasses`);
- `temperature`: a scale alone (`Temperature`, `TemperatureClasses`);
- `pav`: pool adjacent violators, the best monotone step function (`Pav`);
- `spline`: monotone P-spline logistic regression (`Spline`);
- `poly3`: a cubic polynomial by least squares, or the spline where it is no probability (`Cubic`).

Conventions: natural logarithms; class 1 is the target; a calibrator of detection maps scores (N,)
to log-likelihood ratios (N,), one of classes maps log-scores (N, K) to log-posteriors (N, K) at its
`priors`. `METHODS` registers them by name; `tasks.calibrating` trains them on other data or
cross-fitted.
"""

from truecost.calibration.affine import Affine, AffineClasses
from truecost.calibration.base import Calibrator, Kind, TwoClasses
from truecost.calibration.cubic import Cubic
from truecost.calibration.pav import Pav
from truecost.calibration.spline import Spline
from truecost.calibration.temperature import Temperature, TemperatureClasses

__all__ = [
    "METHODS",
    "Affine",
    "AffineClasses",
    "Calibrator",
    "Cubic",
    "Kind",
    "Pav",
    "Spline",
    "Temperature",
    "TemperatureClasses",
    "TwoClasses",
]

METHODS: dict[str, Kind] = {
    "affine": Kind(
        "scale and offset by prior-weighted logistic regression; classes: a scale, K offsets",
        Affine.fit,
        AffineClasses.fit,
        options=("ridge",),
        cites=("pav",),
    ),
    "temperature": Kind(
        "a scale alone",
        Temperature.fit,
        TemperatureClasses.fit,
        cites=("temperature",),
    ),
    "pav": Kind(
        "pool adjacent violators: the best monotone step function (two classes)",
        Pav.fit,
        options=("laplace",),
        cites=("pav", "ayer"),
        at_prior=False,  # the best at every prior
    ),
    "spline": Kind(
        "monotone P-spline logistic regression (two classes)",
        Spline.fit,
        cites=("spline",),
    ),
    "poly3": Kind(
        "cubic polynomial by least squares, checked; spline where it fails (two classes)",
        Cubic.fit,
        cites=("001", "spline"),
    ),
}
"""The methods by name. Registering one here is all that other modules need."""
