"""Translations: what a system wrote against one or several references.

Files are joined by the ids of sentences (line numbers, for plain text) and each sentence is counted
once; the sums give the BLEU, chrF and TER that sacrebleu gives. An empty reference of a sentence
that has another one is no reference, as sacrebleu's documentation has it.
"""

from typing import TYPE_CHECKING

from truecost.face import item_face
from truecost.formats.declared import KALDI_TEXT, LINES, TABLES, Formats
from truecost.lazy import attach
from truecost.names import ITEM_MAP_KEYS

MAP_KEYS: dict[str, str] = {
    "id": ITEM_MAP_KEYS["id"],
    "text": "text of an utterance or sentence",
    **ITEM_MAP_KEYS,
}

FACE = item_face(
    name="translation",
    title="Translation",
    work="truecost.tasks.translation.work:WORK",
    measures="truecost.tasks.translation.measures",
    map_keys=MAP_KEYS,
    formats=Formats(
        of="translation",
        holds="texts of sentences",
        texts={**LINES, **KALDI_TEXT, **TABLES},
        columns=("id", "text"),
        recognise="truecost.formats.recognising:texts",
    ),
    data=("metadata", "missing", "lines"),
    table="truecost.outputs.options:TranslationTable",
    libraries=("sacrebleu",),
    about={
        "": "Translation: BLEU, chrF and TER.",
        "reference": "File with the reference translations, one per line, or a table; repeat "
        "--reference for more.",
        "further": "Further reference; may be repeated.",
        "files": "Files with the translations of the systems",
    },
    examples={
        "score": "ref.txt new.txt --lines document=documents.txt --unit document",
        "compare": "ref.txt old.txt new.txt --lines document=documents.txt --unit document",
        "plan": "ref.txt new.txt --lines document=documents.txt --unit document",
        "validate": "new.txt --reference ref.txt --input-format lines",
        "leaderboard": "ref.txt old.txt new.txt --lines document=documents.txt --unit document "
        "-o board",
    },
    shipped=True,
)

if TYPE_CHECKING:
    from truecost.outputs.translation import COUNTERS as COUNTERS
    from truecost.outputs.translation import COUNTING as COUNTING
    from truecost.outputs.translation import TranslationOptions as TranslationOptions
    from truecost.outputs.translation import count as count
else:
    __getattr__, __dir__, __all__ = attach(__name__, __file__)
