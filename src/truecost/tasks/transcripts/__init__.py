"""Transcripts: words and characters of utterances, counted against their reference.

A reference and the output of a system are joined by utterance, made comparable by named steps,
alternatives in the reference are settled, and errors are counted by minimal alignments. Nothing is
changed or left out that the signature does not say.
"""

from typing import TYPE_CHECKING

from truecost.face import item_face
from truecost.formats.declared import KALDI_TEXT, LINES, SEGLST, TABLES, Formats
from truecost.lazy import attach
from truecost.names import ITEM_MAP_KEYS

MAP_KEYS: dict[str, str] = {
    "id": ITEM_MAP_KEYS["id"],
    "text": "text of an utterance or sentence",
    **ITEM_MAP_KEYS,
}

FACE = item_face(
    name="transcripts",
    title="Transcripts",
    work="truecost.tasks.transcripts.work:WORK",
    measures="truecost.tasks.transcripts.measures",
    map_keys=MAP_KEYS,
    formats=Formats(
        of="transcripts",
        holds="texts of utterances",
        texts={
            **KALDI_TEXT,
            "trn": "words (id); alternations are { a / b / @ } (.trn)",
            "stm": "recording channel speaker start end [<label,label>] words (.stm)",
            "ctm": "recording channel start duration word [confidence [type [speaker]]] (.ctm)",
            **SEGLST,
            "manifest": "JSON lines of NeMo and the Open ASR Leaderboard: audio_filepath, text, "
            "pred_text",
            **LINES,
            **TABLES,
        },
        readers={"manifest": "truecost.formats.manifests:read_manifest"},
        marks={"manifest": ("audio_filepath",)},
        both=("audio_filepath", "pred_text"),
        columns=("id", "text"),
        recognise="truecost.formats.recognising:texts_with_ids",
        plainest="kaldi-text",
        folders=("trn", "stm", "ctm"),
    ),
    data=("metadata", "missing", "lines", "allow_duplicates"),
    table="truecost.outputs.options:TranscriptsTable",
    libraries=("rapidfuzz",),
    about={
        "": "Speech recognition: word, character and phone errors.",
        "reference": "File with the reference texts: Kaldi text, trn, stm, seglst, csv or lines.",
        "files": "Files with the recognised texts, or ctm with recognised words",
    },
    examples={
        "score": "ref.trn new.trn --metadata clips.csv --unit speaker --normalise lower",
        "compare": "ref.trn old.trn new.trn --metadata clips.csv --unit speaker --normalise lower",
        "plan": "ref.trn new.trn --metadata clips.csv --unit speaker --normalise lower",
        "validate": "new.trn --reference ref.trn",
        "leaderboard": "ref.trn old.trn new.trn --metadata clips.csv --unit speaker -o board",
    },
    shipped=True,
)

if TYPE_CHECKING:
    from truecost.outputs.transcripts import COUNTING as COUNTING
    from truecost.outputs.transcripts import PARTS as PARTS
    from truecost.outputs.transcripts import count as count
    from truecost.outputs.utterances import TextOptions as TextOptions
else:
    __getattr__, __dir__, __all__ = attach(__name__, __file__)
