"""What a source of life cycles is: a name, its settings, and a function that makes a `Course`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from truecost.learning.lifelong.course import Course

Make = Callable[[Any, int], Course]


@dataclass(frozen=True)
class Kind:
    """One kind of source.

    Attributes
    ----------
    text : str
        A line on it.
    settings : type of msgspec.Struct
        The keys of `[source]` that it reads, beside `name`; frozen.
    make : callable
        From settings and the seed of a run to a course: the same for the same, in any process.
    files : tuple of str
        Settings that name the files that it reads (a path, or several); a run resumes only while
        these are the same, byte by byte.
    outputs : str
        What is put out: classes, transcripts, translation or diarization; the setting `kind` says
        it where this is empty.
    extra : str
        The extra of truecost that has to be installed; empty for none.
    """

    text: str
    settings: type[msgspec.Struct]
    make: Make
    files: tuple[str, ...] = ()
    outputs: str = ""
    extra: str = ""
