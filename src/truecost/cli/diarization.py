"""`truecost diarization`: who spoke when, and voice activity."""

from truecost.cli.item_options import Diarization
from truecost.cli.items import Words, verbs

score, compare, plan, validate, leaderboard = verbs(
    Words(
        "diarization",
        "RTTM file (or csv, seglst) with who really spoke when.",
        "RTTM files of the systems",
        "ref.rttm hyp.rttm --collar 0.25",
        "ref.rttm a.rttm b.rttm",
    ),
    Diarization,
)
