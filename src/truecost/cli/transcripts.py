"""`truecost transcripts`: word, character and phone errors."""

from truecost.cli.item_options import Transcripts
from truecost.cli.items import Words, verbs

score, compare, plan, validate, leaderboard = verbs(
    Words(
        "transcripts",
        "File with the right texts: Kaldi text, trn, stm, seglst, csv or lines.",
        "Files with the recognised texts, or ctm with recognised words",
        "ref.trn hyp.trn --normalise lower,no-punctuation",
        "ref.trn old.trn new.trn --metadata utt2spk --map unit=speaker",
    ),
    Transcripts,
)
