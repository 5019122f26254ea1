"""The scoring program of a Codabench competition: `score --codabench INPUT OUTPUT`.

INPUT holds `ref/` (the key or reference, and optionally `study.toml` with the settings) and `res/`
(what the participant handed in). OUTPUT gets `scores.json`, one flat object of numbers, and
`detailed_results.html`, the report. Both are written at the end or not at all. Participants read
them: the alignments of the worst items, which show the reference, are left out unless the study
asks for some with `worst`.
"""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from truecost.core.results import Row
from truecost.errors import InputError
from truecost.formats.publishing import publish
from truecost.study.config import Study
from truecost.study.directory import page_of
from truecost.study.outcome import Outcome, json_text
from truecost.study.running import run
from truecost.study.tables import SystemTable
from truecost.tasks import find

SETTINGS = "study.toml"
SCORES, PAGE = "scores.json", "detailed_results.html"


def codabench(
    study: Study,
    source: str,
    target: str,
    progress: Callable[[str, int, int], None] | None = None,
) -> Outcome:
    """Score the submission of a Codabench input folder and write what Codabench reads.

    Parameters
    ----------
    study : Study
        Settings given otherwise; laid over those of `ref/study.toml`.
    source, target : str
        Folders INPUT and OUTPUT.
    progress : callable, optional
        As for `run`.

    Raises
    ------
    InputError
        When the folders do not hold one key and one submission, or as `run` says.
    UsageError
        As `run` says.
    """
    reference, handed_in = Path(source) / "ref", Path(source) / "res"
    for folder, what in ((reference, "the key"), (handed_in, "the submission")):
        if not folder.is_dir():
            raise InputError(f"{folder}: there is no such folder; {what} was expected there")
    settings = reference / SETTINGS
    if settings.exists():
        study = study.over(Study.read(str(settings)))
    if study.data.key is None and not study.data.reference:
        key = str(_only(reference, "key (or data.key or data.reference in study.toml)"))
        given = {"key": key} if "key" in find(study.task).data else {"reference": (key,)}
        study = msgspec.structs.replace(study, data=msgspec.structs.replace(study.data, **given))
    file = _only(handed_in, "submission")
    if find(study.task).worst and study.worst is None:
        study = msgspec.structs.replace(study, worst=0)
    systems = {"submission": SystemTable(file=str(file))}
    outcome = run(msgspec.structs.replace(study, systems=systems, baseline=None), progress)
    place = Path(target)
    publish({place / PAGE: page_of(outcome), place / SCORES: json_text(flat(outcome.rows))})
    return outcome


def _only(folder: Path, what: str) -> Path:
    """The one file of a folder; settings, hidden files and Codabench's `metadata` do not count."""
    ignored = (SETTINGS, "metadata", "__MACOSX")
    files = sorted(
        p for p in folder.iterdir() if p.name not in ignored and not p.name.startswith(".")
    )
    if len(files) != 1:
        names = ", ".join(p.name for p in files) or "none"
        raise InputError(f"{folder}: one file was expected, the {what}; there are {names}")
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
        name = re.sub(r"\W+", "_", "_".join([row.label, *about])).strip("_")
        found |= {name: row.value, f"{name}_lower": row.lower, f"{name}_upper": row.upper}
    return found
