"""The methods of calibration by name: what fits them, their options and their sources."""

from truecost.calibration.affine import Affine, AffineClasses
from truecost.calibration.base import Kind
from truecost.calibration.cubic import Cubic
from truecost.calibration.pav import Pav
from truecost.calibration.spline import Spline
from truecost.calibration.temperature import Temperature, TemperatureClasses

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
