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

from typing import TYPE_CHECKING

from truecost.lazy import attach

if TYPE_CHECKING:
    from truecost.calibration.affine import Affine as Affine
    from truecost.calibration.affine import AffineClasses as AffineClasses
    from truecost.calibration.base import Calibrator as Calibrator
    from truecost.calibration.base import Kind as Kind
    from truecost.calibration.base import TwoClasses as TwoClasses
    from truecost.calibration.cubic import Cubic as Cubic
    from truecost.calibration.methods import METHODS as METHODS
    from truecost.calibration.pav import Pav as Pav
    from truecost.calibration.spline import Spline as Spline
    from truecost.calibration.temperature import Temperature as Temperature
    from truecost.calibration.temperature import TemperatureClasses as TemperatureClasses
else:
    __getattr__, __dir__, __all__ = attach(
        __name__,
        {
            ".affine": ("Affine", "AffineClasses"),
            ".base": ("Calibrator", "Kind", "TwoClasses"),
            ".cubic": ("Cubic",),
            ".methods": ("METHODS",),
            ".pav": ("Pav",),
            ".spline": ("Spline",),
            ".temperature": ("Temperature", "TemperatureClasses"),
        },
    )
