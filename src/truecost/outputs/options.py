"""`[transcripts]`, `[translation]`, `[diarization]`: how outputs and references are made
comparable.
"""

from typing import Annotated, ClassVar

from truecost.names import Outside, SpeakerMapping
from truecost.options import Option, PartialTable

PYTHON = "python:"  # before the module:function of a normalisation
OF_FILES = {"outputs": ("files of outputs",)}  # no event logs, which have an output an item


def names_file(step: str) -> bool:
    """Whether a step of normalisation is a mapping file: others have no dot and no slash."""
    return not step.startswith((PYTHON, "no-words=")) and any(c in step for c in "./\\")


def keeps_place(step: str) -> bool:
    """Whether a step of normalisation is no path, which moves with a study."""
    return not names_file(step)


class TranscriptsTable(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """Table ``[transcripts]`` of a study: normalisation and alignment of texts."""

    __table__: ClassVar[str] = "transcripts"

    normalise: Annotated[
        tuple[str, ...],
        Option(
            "Normalisation steps, comma-separated, in the order in which they are done "
            "(truecost list normalisations).",
            shown="no step",
            split=True,
            file=keeps_place,
        ),
    ] = ()
    by: Annotated[
        str | None,
        Option(
            "Columns, such as recording+speaker: segments with the same values in these columns "
            "are one utterance.",
            shown="the id",
            needs=OF_FILES,
        ),
    ] = None
    outside: Annotated[
        Outside | None,
        Option(
            "CTM words outside the segments of the reference: stop with an error, or drop them.",
            default="error",
            needs=OF_FILES,
        ),
    ] = None


class TranslationTable(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """Table ``[translation]`` of a study: tokenisation of sentences."""

    __table__: ClassVar[str] = "translation"

    tokenizer: Annotated[
        str | None, Option("Tokenizer of sacrebleu.", default="13a", needs={"measure": ("bleu",)})
    ] = None
    lowercase: Annotated[
        bool | None,
        Option("Ignore case; TER always does.", needs={"measure": ("bleu", "chrf", "chrf++")}),
    ] = None


class DiarizationTable(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """Table ``[diarization]`` of a study: scored regions, and the mapping of output speakers to
    reference speakers.
    """

    __table__: ClassVar[str] = "diarization"

    collar: Annotated[
        float | None,
        Option(
            "Seconds before and after each reference boundary that are not scored.",
            shown="0",
            ge=0,
            le=10,
            thousandths=True,
        ),
    ] = None
    skip_overlap: Annotated[
        bool | None, Option("Leave out time in which several reference speakers speak.")
    ] = None
    mapping: Annotated[
        SpeakerMapping | None,
        Option(
            "Time that decides which output speaker is mapped to which reference speaker: scored "
            "time, or evaluated time, which includes unscored collars and overlap, as in md-eval.",
            default="scored",
            needs={"measure": ("der", "missed", "false_alarm", "confusion")},
        ),
    ] = None
    uem: Annotated[
        str | None,
        Option(
            "File with the regions that are scored.",
            shown="the extent of reference and output",
            file=True,
        ),
    ] = None
    tolerance: Annotated[
        float | None,
        Option(
            "For voice activity: seconds on each side of a boundary of speech that are not scored.",
            shown="0",
            ge=0,
            le=10,
            thousandths=True,
            needs=OF_FILES,
        ),
    ] = None
    merge_gaps: Annotated[
        float | None,
        Option(
            "For voice activity: gaps in speech shorter than this many seconds count as speech.",
            shown="0",
            ge=0,
            le=86400,
            needs=OF_FILES,
        ),
    ] = None
