"""What is stored of trials beside rows: what was fitted, and what may be claimed of methods."""

from typing import Any

import msgspec

from truecost.core.results import Side


class Fitted(msgspec.Struct, frozen=True, kw_only=True, tag="calibration"):
    """What was fitted to calibrate a system.

    Attributes
    ----------
    summary : dict
        Method, training data and parameters (`Calibrated.summary`).
    """

    summary: dict[str, Any]


class Claim(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="claim"):
    """What may honestly be claimed of two methods, for one measure.

    Attributes
    ----------
    system, against : str
        The two methods.
    measure : str
        Label of the measure.
    dims : dict of str to str
        Application, where there are several.
    verdict : {"better", "worse", "same", "undecided"}
        Of `system`; nothing is claimed when it is undecided.
    text : str
        The sentence: what differs and by how much, what varied and what was held.
    """

    system: str
    against: str
    measure: str
    dims: dict[str, str] = {}
    verdict: Side
    text: str
