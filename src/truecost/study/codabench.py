"""Challenges on Codabench: the scoring program, and archives whose bytes depend on their content
only, for the bundle that an organiser uploads.
"""

import io
import json
import re
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from truecost.core.results import Row
from truecost.errors import InputError
from truecost.formats.opening import json_text
from truecost.formats.publishing import publish
from truecost.study.config import Study
from truecost.study.directory import page_of
from truecost.study.outcome import Outcome
from truecost.study.running import run
from truecost.study.tables import SystemTable
from truecost.tasks import find as find_task

SINCE = (1980, 1, 1, 0, 0, 0)  # no time of day in archives


def packed(files: Mapping[str, bytes]) -> bytes:
    """An archive of files by name: equal files give equal bytes."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, SINCE)
            entry.compress_type, entry.create_system = zipfile.ZIP_DEFLATED, 3
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, files[name])
    return stream.getvalue()


def yaml(content: Any, indent: int = 0) -> str:
    """Mappings, lists, texts and numbers as YAML; texts have quotes, as in JSON."""
    lines = []
    for name, value in content.items():
        pad = " " * indent
        if isinstance(value, list) and value and isinstance(value[0], dict):
            inner = (yaml(entry, indent + 4) for entry in value)
            entries = [f"{pad}  - {text[indent + 4 :]}" for text in inner]
            lines.append(f"{pad}{name}:\n{''.join(entries)}")
        else:
            lines.append(f"{pad}{name}: {json.dumps(value)}\n")
    return "".join(lines)


SETTINGS = "study.toml"
SCORES, PAGE = "scores.json", "detailed_results.html"
# What Codabench, macOS and Windows put beside the files that were meant.
BESIDE = ("metadata", "metadata.yaml", "__MACOSX", "Thumbs.db", "desktop.ini")


def codabench(
    study: Study, source: str, target: str, progress: Callable[[str, int, int], None] | None = None
) -> Outcome:
    """Score a submission to a Codabench challenge, and write the files that Codabench expects.

    Parameters
    ----------
    study : Study
        Settings of the evaluation; they override those in the file `ref/study.toml` of the input
        folder.
    source : str
        Path of the input folder, with the key in the folder `ref` and the submission in `res`.
    target : str
        Path of the output folder, into which `scores.json` (values and ends of intervals) and
        `detailed_results.html` (the report) are written.
    progress : callable, optional
        Function that is called with the progress, as in :func:`truecost.study.ranking.rank`.

    Returns
    -------
    Outcome
        Result of the evaluation.

    Raises
    ------
    InputError
        If the input folder does not contain exactly one key and one submission, or a file cannot be
        read or scored.
    UsageError
        If the settings contradict each other or the data.
    """
    reference, handed_in = Path(source) / "ref", Path(source) / "res"
    for folder, what in ((reference, "the key"), (handed_in, "the submission")):
        if not folder.is_dir():
            raise InputError(f"{folder}: there is no such folder; {what} was expected there")
    reference = _inside(reference)
    settings = reference / SETTINGS
    if settings.exists():
        study = study.over(Study.read(str(settings)))
    if study.data.key is None and not study.data.reference:
        key = str(_only(reference, "key (or data.key or data.reference in study.toml)"))
        study = key_named(study, key)
    file = _only(handed_in, "submission")
    if "worst" in find_task(study.task).beside and study.worst is None:
        study = msgspec.structs.replace(study, worst=0)
    systems = {"submission": SystemTable(file=str(file))}
    outcome = run(msgspec.structs.replace(study, systems=systems, baseline=None), progress)
    place = Path(target)
    publish({place / PAGE: page_of(outcome), place / SCORES: json_text(flat(outcome.rows))})
    return outcome


def key_named(study: Study, key: str) -> Study:
    """The study with a file as the key of its task, or as its reference."""
    given = {"key": key} if "key" in find_task(study.task).data else {"reference": (key,)}
    return msgspec.structs.replace(study, data=msgspec.structs.replace(study.data, **given))


def _shown(folder: Path) -> list[Path]:
    """The files that a person put into a folder, without hidden ones (`._a.csv`, `.DS_Store`) and
    those that programs add.
    """
    return sorted(
        path for path in folder.iterdir() if path.name not in BESIDE and path.name[:1] != "."
    )


def _inside(folder: Path) -> Path:
    """The folder that contains the files: the archive of a folder unpacks to a folder in a folder.

    A folder of arrays is data itself.
    """
    inner = _shown(folder)
    alone = len(inner) == 1 and inner[0].is_dir() and not any(inner[0].glob("*.npy"))
    return _inside(inner[0]) if alone else folder


def _only(folder: Path, what: str) -> Path:
    """The only file of a folder, or of the only folder in it; settings do not count."""
    place = _inside(folder)
    files = [path for path in _shown(place) if path.name != SETTINGS]
    if len(files) != 1:
        names = ", ".join(p.name for p in files) or "none"
        raise InputError(f"{place}: one file was expected, the {what}; there are {names}")
    return files[0]


def flat(rows: Sequence[Row]) -> dict[str, float | None]:
    """Values and ends of intervals under names that a leaderboard can show.

    Returns
    -------
    dict of str to float or None
        `act_dcf`, `act_dcf_lower`, `act_dcf_upper`; of subsets and the like
        `act_dcf_noise_babble`. None where undefined.
    """
    found: dict[str, float | None] = {}
    for row in rows:
        about = [v for k, v in row.dims.items() if k != "system"]
        name = name_of(row.label, *about)
        found |= {name: row.value, f"{name}_lower": row.lower, f"{name}_upper": row.upper}
    return found


def name_of(*parts: str) -> str:
    """The name of a column: letters, digits and underscores."""
    return re.sub(r"\W+", "_", "_".join(parts)).strip("_")
