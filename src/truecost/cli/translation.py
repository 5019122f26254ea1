"""`truecost translation`: BLEU and its like."""

from truecost.cli.item_options import Translation
from truecost.cli.items import Words, verbs

score, compare, plan, validate, leaderboard = verbs(
    Words(
        "translation",
        "File with the right translations, one a line, or a table; --reference for more.",
        "Files with the translations of the systems",
        "ref.txt hyp.txt --lines document=documents.txt --map unit=document",
        "ref.txt old.txt new.txt",
    ),
    Translation,
)
