"""The data protocol: samples, splits that keep groups whole, and what makes a split worthless.

::

    samples = tc.protocol.read_samples("samples.csv", {"id": "utt", "label": "y", "group": "spk"})
    found = tc.protocol.split(samples, folds=5)
    tc.protocol.write_split(found, "split.csv")

Names are imported when they are first used.
"""

from typing import TYPE_CHECKING

from truecost.lazy import attach

if TYPE_CHECKING:
    from truecost.protocol.checking import check as check
    from truecost.protocol.dealing import Balance as Balance
    from truecost.protocol.findings import Checked as Checked
    from truecost.protocol.findings import Finding as Finding
    from truecost.protocol.ledger import Ledger as Ledger
    from truecost.protocol.ledger import evaluation_sets as evaluation_sets
    from truecost.protocol.ledger import read_ledger as read_ledger
    from truecost.protocol.notes import Note as Note
    from truecost.protocol.options import SplitPlan as SplitPlan
    from truecost.protocol.predicting import Predicting as Predicting
    from truecost.protocol.predicting import Predictions as Predictions
    from truecost.protocol.predicting import predict as predict
    from truecost.protocol.samples import Samples as Samples
    from truecost.protocol.samples import read_samples as read_samples
    from truecost.protocol.samples import samples_of as samples_of
    from truecost.protocol.splitting import Split as Split
    from truecost.protocol.splitting import split as split
    from truecost.protocol.splitting import write_split as write_split
else:
    __getattr__, __dir__, __all__ = attach(__name__, __file__)
