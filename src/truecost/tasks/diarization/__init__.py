"""Diarization: who spoke when, counted by recording in whole microseconds."""

from typing import TYPE_CHECKING

from truecost.face import item_face
from truecost.formats.declared import RTTM, SEGLST, TABLES, Formats
from truecost.lazy import attach
from truecost.names import ITEM_MAP_KEYS

MAP_KEYS: dict[str, str] = {
    "recording": "recording of a segment",
    "channel": "channel of the recording, where there are several",
    "speaker": "speaker of a segment",
    "start": "start of a segment in seconds",
    "end": "end of a segment in seconds",
    "duration": "length of a segment in seconds, instead of its end",
    **{key: text for key, text in ITEM_MAP_KEYS.items() if key != "id"},
}

FACE = item_face(
    name="diarization",
    title="Diarization",
    work="truecost.tasks.diarization.work:WORK",
    measures="truecost.tasks.diarization.measures",
    map_keys=MAP_KEYS,
    formats=Formats(
        of="diarization",
        holds="segments of speakers",
        texts={
            **RTTM,
            "uem": "recording channel start end: regions that are scored (.uem)",
            **SEGLST,
            **TABLES,
        },
        readers={"seglst": "truecost.formats.segments:read_turns"},
        columns=("recording", "start"),
        recognise="truecost.formats.recognising:segments",
        plainest="rttm",
        folders=("rttm", "uem"),
    ),
    data=("metadata", "missing", "allow_duplicates"),
    table="truecost.outputs.options:DiarizationTable",
    about={
        "": "Speaker diarization and voice activity.",
        "reference": "RTTM file (or csv, seglst) with the reference.",
        "files": "RTTM files of the systems",
    },
    examples={
        "score": "ref.rttm new.rttm --collar 0.25 --metadata rooms.csv --unit series",
        "compare": "ref.rttm old.rttm new.rttm --collar 0.25 --metadata rooms.csv --unit series",
        "plan": "ref.rttm new.rttm --collar 0.25 --metadata rooms.csv --unit series",
        "validate": "new.rttm --reference ref.rttm",
        "leaderboard": "ref.rttm old.rttm new.rttm --metadata rooms.csv --unit series -o board",
    },
    shipped=True,
)

if TYPE_CHECKING:
    from truecost.outputs.diarization import COUNTING as COUNTING
    from truecost.outputs.diarization import DiarizationOptions as DiarizationOptions
    from truecost.outputs.diarization import count as count
else:
    __getattr__, __dir__, __all__ = attach(__name__, __file__)
