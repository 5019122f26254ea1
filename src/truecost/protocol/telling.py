"""What copies are told by: contents, files, features and sounds, read and made ready to compare."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from truecost.errors import InputError
from truecost.protocol.copies import Scaled
from truecost.protocol.features import Features, equal_rows, equal_texts, features_of
from truecost.protocol.findings import Finding, Kind
from truecost.protocol.joining import Joined
from truecost.protocol.sounds import Landmarks, each, sample_hash

Ints = npt.NDArray[np.int64]

FEWEST_FEATURES = 8  # with fewer, unrelated samples may be equal


@dataclass(frozen=True, eq=False)
class Keys:
    """What copies have in common: a code for each sample, and what it is called."""

    codes: Ints
    by: str
    kind: Kind = "leak"
    doubt: str = ""


@dataclass(frozen=True, eq=False)
class Evidence:
    """What copies can be told by."""

    keys: tuple[Keys, ...]
    scaled: Scaled | None = None
    recordings: Sequence[Landmarks] = ()
    notes: tuple[Finding, ...] = ()
    looked: tuple[str, ...] = field(default_factory=tuple)


def gather(
    joined: Joined,
    features: str | npt.ArrayLike | None,
    files: str | None,
    audio: str | None,
    near: float,
    jobs: int | None,
) -> Evidence:
    """Read what copies can be told by."""
    samples = joined.samples
    keys, looked = [], []
    recordings: list[Landmarks] = []
    if joined.several:
        doubt = " (ids that are numbered anew in each file? make them differ)"
        keys.append(Keys(equal_texts(samples.ids), "id", doubt=doubt))
    if samples.contents is not None:
        column = samples.columns.get("content", "content")
        keys.append(Keys(equal_texts(samples.contents), column))
        looked.append(f"exact copies ({column})")
    hashed = files or audio
    if hashed is not None:
        paths = joined.paths(hashed, "--files" if files else "--audio")
        hashes = np.array(each(sample_hash, paths, jobs), object)
        keys.append(Keys(equal_texts(hashes), f"the content of their files ({hashed})"))
        looked.append(f"files ({hashed})")
    if audio is not None:
        paths = joined.paths(audio, "--audio")
        recordings = each(Landmarks.of_file, paths, jobs)
        looked.append(f"shared stretches of audio ({audio})")
    given = _features(joined, features, audio, jobs)
    if given is None:
        return Evidence(tuple(keys), None, recordings, (), tuple(looked))
    scaled = Scaled.of(given.values)
    number = scaled.values.shape[1]
    few = number < FEWEST_FEATURES
    doubt = f" (of {number}: too few to tell copies from others)" if few else ""
    kind: Kind = "warning" if few else "leak"
    keys.append(Keys(equal_rows(given.values), "features", kind, doubt))
    looked.append(f"copies by {number} features" + (f", near up to {near:g}" if near else ""))
    return Evidence(tuple(keys), scaled, recordings, _constant(scaled), tuple(looked))


def _constant(scaled: Scaled) -> tuple[Finding, ...]:
    """A note on features that say nothing."""
    if not scaled.constant:
        return ()
    many = scaled.constant > 1
    message = (
        f"{scaled.constant} feature{'s are' if many else ' is'} the same in all samples and "
        f"{'were' if many else 'was'} left out"
    )
    return (Finding("near-copies", "note", message, count=scaled.constant),)


def _features(
    joined: Joined, given: str | npt.ArrayLike | None, audio: str | None, jobs: int | None
) -> Features | None:
    """The features that near copies are told by, if any."""
    samples = joined.samples
    if isinstance(given, str):
        return features_of(samples, given)
    if given is not None:
        values = np.asarray(given, np.float64)
        if values.ndim != 2 or len(values) != len(samples):
            raise InputError(
                f"features have shape {values.shape}: one row for each of {len(samples)} samples "
                f"is expected"
            )
        return Features(values, tuple(map(str, range(values.shape[1]))))
    if audio is None:
        return None
    from truecost.speech.clips import NAMES, file_features

    rows = each(file_features, joined.paths(audio, "--audio"), jobs)
    return Features(np.array(rows), NAMES, audio)
