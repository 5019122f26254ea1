"""The data protocol: samples, splits that keep groups whole, and what makes a split worthless.

::

    samples = tc.protocol.read_samples("samples.csv", {"id": "utt", "label": "y", "group": "spk"})
    found = tc.protocol.split(samples, folds=5)
    tc.protocol.write_split(found, "split.csv")

Names are imported when they are first used.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from truecost.protocol.balance import Balance
    from truecost.protocol.checking import check
    from truecost.protocol.findings import Checked, Finding
    from truecost.protocol.ledger import Ledger, read_ledger
    from truecost.protocol.ledger_sets import evaluation_sets
    from truecost.protocol.planning import SplitPlan
    from truecost.protocol.predicting import Predicting, Predictions, predict
    from truecost.protocol.remarks import Note
    from truecost.protocol.samples import Samples, read_samples, samples_of
    from truecost.protocol.splitting import Split, split
    from truecost.protocol.writing import write_split

_HOME = {
    "balance": ("Balance",),
    "checking": ("check",),
    "findings": ("Checked", "Finding"),
    "ledger": ("Ledger", "read_ledger"),
    "ledger_sets": ("evaluation_sets",),
    "planning": ("SplitPlan",),
    "predicting": ("Predicting", "Predictions", "predict"),
    "remarks": ("Note",),
    "samples": ("Samples", "read_samples", "samples_of"),
    "splitting": ("Split", "split"),
    "writing": ("write_split",),
}
_MODULE = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "Balance",
    "Checked",
    "Finding",
    "Ledger",
    "Note",
    "Predicting",
    "Predictions",
    "Samples",
    "Split",
    "SplitPlan",
    "check",
    "evaluation_sets",
    "predict",
    "read_ledger",
    "read_samples",
    "samples_of",
    "split",
    "write_split",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `truecost --help` stays fast."""
    if name not in _MODULE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"truecost.protocol.{_MODULE[name]}"), name)
