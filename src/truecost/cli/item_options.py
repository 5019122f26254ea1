"""Options of the tasks that hold the output of a system against a reference."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from truecost.cli.options import Flag, Whole, pairs
from truecost.names import Missing, Outside, SpeakerMapping

if TYPE_CHECKING:
    from truecost.study.tables import DataTable


@Parameter(name="*", group="Data")
@dataclass(frozen=True, kw_only=True)
class Records:
    """What the files hold."""

    map: str = ""
    """Columns, as KEY=COLUMN,...: id, text (diarization: recording, speaker, start, end), unit
    (resampled together), unit2. See: truecost list map"""
    metadata: Annotated[tuple[str, ...], Flag] = ()
    """FILE with further columns (speaker, document), joined by id, or COLUMN=FILE."""
    missing: Missing | None = None
    """What to do with what a system lacks (error unless given; worst counts it as empty)."""
    allow_duplicates: Annotated[bool, Flag] = False
    """Accept words and turns that stand twice at the same time (transcripts, diarization)."""
    input_format: str | None = None
    """Format of the outputs; recognised unless given. See: truecost list formats"""
    reference_format: str | None = None
    """Format of the reference; recognised unless given."""
    worst: Whole = None
    """How many of the worst are kept with their alignment (5 unless given; 0 for none)."""

    def table(self, reference: tuple[str, ...], options: "TaskOptions") -> "DataTable":
        """`[data]` of the study."""
        from truecost.study.tables import DataTable

        return DataTable(
            map=pairs(self.map),
            reference_map=pairs(options.reference_map, "--reference-map"),
            reference=reference,
            metadata=self.metadata,
            lines=options.lines,
            missing=self.missing,
            allow_duplicates=self.allow_duplicates or None,
            input_format=self.input_format,
            reference_format=self.reference_format,
        )


class TaskOptions:
    """Options of one task: what goes into its table of the study, and further data.

    Attributes
    ----------
    reference_map : str
        Columns of the reference, where they are not those of the outputs.
    lines : tuple of str
        Columns from files with one value a line.
    """

    reference_map: str = ""
    lines: tuple[str, ...] = ()

    def table(self) -> dict[str, Any]:
        """The keys of the task's table that were given."""
        own = {k: v for k, v in vars(self).items() if k not in ("lines", "reference_map")}
        return {k: v for k, v in own.items() if v is not None and v != () and v is not False}


@Parameter(name="*", group="Transcripts")
@dataclass(frozen=True, kw_only=True)
class Transcripts(TaskOptions):
    """How texts are made comparable."""

    normalise: Annotated[tuple[str, ...], Flag] = ()
    """Step, or steps separated by commas, in their order: truecost list normalisations"""
    by: str | None = None
    """Columns that name an utterance, joined by + (the id unless given)."""
    outside: Outside | None = None
    """What to do with CTM words in no segment of the reference (error unless given)."""
    reference_map: str = ""
    """Columns of the reference, where they are others than --map says: id, text."""
    lines: Annotated[tuple[str, ...], Flag] = ()
    """COLUMN=FILE: one value (speaker, document) a line, for texts that have one a line."""

    def table(self) -> dict[str, Any]:
        """The keys of `[transcripts]` that were given."""
        steps = [step for given in self.normalise for step in given.split(",")]
        return super().table() | ({"normalise": steps} if steps else {})


@Parameter(name="*", group="Translation")
@dataclass(frozen=True, kw_only=True)
class Translation(TaskOptions):
    """How sentences become tokens."""

    tokenizer: str | None = None
    """One of sacrebleu's (13a unless given)."""
    lowercase: Annotated[bool, Flag] = False
    """Ignore case."""
    reference_map: str = ""
    """Columns of the reference, where they are others than --map says: id, text."""
    lines: Annotated[tuple[str, ...], Flag] = ()
    """COLUMN=FILE: one value (document) a line, for texts that have one a line."""


@Parameter(name="*", group="Diarization")
@dataclass(frozen=True, kw_only=True)
class Diarization(TaskOptions):
    """Which times are scored, and how speakers are mapped."""

    collar: float | None = None
    """Seconds on each side of a reference boundary that are not scored (0 unless given)."""
    skip_overlap: Annotated[bool, Flag] = False
    """Leave out where several reference speakers speak."""
    mapping: SpeakerMapping | None = None
    """Map speakers by scored time, or with collars and overlap too (scored unless given)."""
    uem: str | None = None
    """File with the regions that are scored (extent of reference and output unless given)."""
    tolerance: float | None = None
    """Seconds on each side of a boundary of speech that speech measures leave out."""
    merge_gaps: float | None = None
    """Gaps in speech shorter than this many seconds count as speech, for speech measures."""
    reference_map: str = ""
    """Columns of the reference, where they are others than --map says (keys: list map)."""


NO_RECORDS = Records()
