"""The bundle of a challenge on Codabench, which an organiser uploads, made from a study.

`competition.yaml` at the root lists its content: pages, terms, a logo, and three archives: the
scoring program, the reference data and the data for participants. Equal inputs give equal bytes.

Source: docs.codabench.org, "Yaml Structure" and "Competition Bundle Structure".
"""

import hashlib
import shlex
import struct
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from truecost.errors import InputError, UsageError
from truecost.formats.opening import opened
from truecost.formats.publishing import publish
from truecost.options import check, declared
from truecost.study.codabench import SETTINGS, flat, key_named, name_of, packed, yaml
from truecost.study.config import Study
from truecost.study.options import ChallengeTable
from truecost.study.paths import files_of_study
from truecost.study.running import check_study, run
from truecost.study.tables import DataTable, SystemTable
from truecost.tasks import DEFAULT
from truecost.tasks import find as find_task
from truecost.tasks.measures import ALL, find
from truecost.version import __version__

IMAGES, TEXTS = (".png", ".jpg", ".jpeg", ".gif"), (".md", ".html")
PROGRAM = '''"""Scores one submission: /app/input/ref against /app/input/res."""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
try:
    from truecost.__main__ import main
except ModuleNotFoundError:  # the image has none: from a wheel in this folder, or from the index
    wanted = ["--find-links", str(HERE), "-r", str(HERE / "requirements.txt")]
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", *wanted], check=True)
    from truecost.__main__ import main

sys.argv[:1] = ["truecost", "score", "--codabench"]
main()
'''
TERMS = """# Terms

- Results are shown on the leaderboard under the name of the account.
- A team has one account. The evaluation data train nothing and tune nothing.
- The organisers may leave out submissions that break these rules.
"""


def write_bundle(study: Study, target: str, wishes: ChallengeTable | None = None) -> Path:
    """Write the bundle of a challenge whose rules are a study.

    Parameters
    ----------
    study : Study
        Study with the key or reference; its systems and gates are left out.
    target : str
        Path of the archive (.zip); a file there is replaced.
    wishes : ChallengeTable, optional
        Further content, in place of that of `[challenge]` in the study.

    Raises
    ------
    UsageError
        When the study names no key, has several collections or applications, or a wish is wrong.
    InputError
        When a file cannot be read, or the sample cannot be scored.
    """
    place = Path(target)
    if place.suffix.lower() != ".zip":
        raise UsageError(f"{target}: a bundle is one archive: name a file that ends in .zip")
    publish({place: bundle(study, wishes or ChallengeTable())})
    return place


def bundle(study: Study, wishes: ChallengeTable) -> bytes:
    """The archive; see `write_bundle`."""
    check(wishes)
    _refuse_other(study)
    names = {key: f"[challenge] {key}" for key in study.challenge.given()}
    names |= {key: f"--{key}" for key in wishes.given()}
    wishes = wishes.over(study.challenge)
    if ALL in study.measures:
        raise UsageError("a challenge ranks by its first measure: name the measures, not all")
    days = _days(wishes, names)
    if study.collections or study.applications:
        raise UsageError("a challenge has one collection and one application: leave out the others")
    if study.source.given() or study.training.given():
        raise UsageError("a challenge scores files: leave out [source] and [training]")
    sample = wishes.sample or next((s.file for s in study.systems.values() if s.file), None)
    bare = msgspec.structs.replace(
        study, systems={}, baseline=None, gate=(), challenge=ChallengeTable()
    )
    rules = bare if wishes.key is None else key_named(bare, wishes.key)
    if rules.data.key is None and not rules.data.reference:
        raise UsageError("the study names no key or reference: add --key FILE")
    files = _by_name(files_of_study(rules))
    tried = _with(rules, sample or "submission")
    check_study(tried)
    columns = _columns(rules) if sample is None else _columns_of(tried)
    named = rules.moved(lambda file: Path(file).name).to_toml()
    title = wishes.title or find_task(study.task).title
    public = {**_by_name(wishes.public), SETTINGS: _published(rules).to_toml().encode()}
    digest = hashlib.sha256(public[SETTINGS]).hexdigest()
    overview = _overview(title, rules, wishes.public, digest)
    pages = {"overview.md": overview, "evaluation.md": _evaluation(rules)}
    said, content = _materials(wishes, pages, names)
    content |= {
        "reference_data.zip": packed({**files, SETTINGS: named.encode()}),
        "scoring_program.zip": packed(_program(study)),
        "public_data.zip": packed(public),
    }
    if sample is not None:
        content["sample_submission.zip"] = packed(_by_name([sample]))
    asked: dict[str, Any] = {"title": title, "columns": columns, "days": days}
    asked["solved"] = sample is not None
    content["competition.yaml"] = _competition(wishes, **asked, **said).encode()
    return packed(content)


def _refuse_other(study: Study) -> None:
    """Refuse a task whose key or reference is not one file, or that scores no uploaded files."""
    face = find_task(study.task)
    if {"key", "reference"}.isdisjoint(face.data):
        raise UsageError(
            f"task {face.name}: Codabench scores one file against a key or reference, and this "
            f"task has neither in one file: collect the submissions in a folder and rank them with "
            f"{_called(study)} leaderboard --config study.toml submissions/*"
        )


def _materials(
    wishes: ChallengeTable, pages: Mapping[str, str], names: Mapping[str, str]
) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The files for participants, with their names in `competition.yaml`."""
    said: dict[str, Any] = {"image": "logo.png", "terms": "terms.md"}
    made = {"image": _logo(), "terms": TERMS.encode()}
    files = {name: text.encode() for name, text in pages.items()}
    endings = {"image": IMAGES, "terms": TEXTS, "page": TEXTS}
    given = [(key, getattr(wishes, key)) for key in said]
    for key, file in (*given, *(("page", page) for page in wishes.page)):
        found = {said[key]: made[key]} if file is None else _one(file, names[key], endings[key])
        [name] = found
        if name in (*files, "competition.yaml"):
            said_by = f"{names[key]} {file}"
            raise UsageError(f"{said_by}: the bundle has a {name} already: rename the file")
        said[key], files = name, files | found
    said.pop("page", None)
    return {**said, "pages": [*pages, *(Path(page).name for page in wishes.page)]}, files


def _days(wishes: ChallengeTable, names: Mapping[str, str]) -> dict[str, str]:
    """First and last day; UsageError for an invalid one."""
    from datetime import date

    found = {"start": wishes.settled("start"), "end": wishes.end}
    given = {key: day for key, day in found.items() if day is not None}
    for key, day in given.items():
        try:
            date.fromisoformat(day)
        except ValueError as error:
            raise UsageError(f"{names[key]} is {day!r}: give a day such as 2026-03-31") from error
    if given.get("end", "9") <= given["start"]:
        raise UsageError(
            f"{names['end']} is {given['end']}: give a day after the start, {given['start']}"
        )
    return given


def _by_name(paths: Sequence[str]) -> dict[str, bytes]:
    """The bytes of files by base name; UsageError where two are equal."""
    found: dict[str, bytes] = {}
    for path in dict.fromkeys(paths):
        name = Path(path).name
        if name in found or name == SETTINGS:
            raise UsageError(f"{path}: the bundle has a file {name!r} already: rename one of them")
        with opened(path) as file:
            found[name] = file.read()
    return found


def _one(path: str, what: str, endings: Sequence[str]) -> dict[str, bytes]:
    """The bytes of a file for participants; UsageError for its ending, InputError where it is
    empty.
    """
    if Path(path).suffix.lower() not in endings:
        raise UsageError(f"{what} {path}: name a file that ends in {', '.join(endings)}")
    found = _by_name([path])
    if not found[Path(path).name].strip():
        raise InputError(f"{path}: the file is empty, which Codabench refuses")
    return found


def _with(rules: Study, sample: str) -> Study:
    """The study of one submission."""
    return msgspec.structs.replace(rules, systems={"submission": SystemTable(file=sample)})


def _column(label: str, key: str, direction: str, index: int) -> dict[str, Any]:
    sorting = "asc" if direction == "lower" else "desc"
    return {"title": label, "key": key, "index": index, "sorting": sorting}


def _columns(rules: Study) -> list[dict[str, Any]]:
    """A column for each measure and its interval, without a sample submission."""
    task = rules.task or DEFAULT
    names = rules.measures or find_task(task).load().defaults(rules.data.type)
    measures = [find(name, task) for name in names]
    return _three((m.label, name_of(m.label), m.direction) for m in measures)


def _columns_of(tried: Study) -> list[dict[str, Any]]:
    """A column for each score of a sample submission and its interval; the first row ranks."""
    rows = [row for row in run(tried).rows if "subset" not in row.dims]
    keys = (
        (
            " ".join([r.label, *(t for n, t in r.dims.items() if n != "system")]),
            next(iter(flat([r]))),
            r.direction,
        )
        for r in rows
    )
    return _three(keys)


def _three(found: Any) -> list[dict[str, Any]]:
    """Columns of values, and of both ends of their intervals."""
    ends = (("", ""), (" lower", "_lower"), (" upper", "_upper"))
    every = [(f"{t}{e}", f"{k}{end}", way) for t, k, way in found for e, end in ends]
    return [_column(*column, number) for number, column in enumerate(every)]


def _program(study: Study) -> dict[str, bytes]:
    """The scoring program."""
    wanted = "\n".join([f"truecost=={__version__}", *find_task(study.task).libraries])
    command = "command: python3 /app/program/score.py /app/input /app/output\n"
    texts = {"metadata.yaml": command, "score.py": PROGRAM, "requirements.txt": f"{wanted}\n"}
    return {name: text.encode() for name, text in texts.items()}


def _published(rules: Study) -> Study:
    """The rules for participants: the study without any file."""
    data = {d.key: getattr(DataTable(), d.key) for d in declared(DataTable) if d.option.file}
    return msgspec.structs.replace(rules, data=msgspec.structs.replace(rules.data, **data))


def _called(study: Study) -> str:
    """The beginning of a command of the task."""
    face = find_task(study.task)
    return "truecost" if face.unnamed else f"truecost {face.name}"


def _overview(title: str, rules: Study, public: Sequence[str], digest: str) -> str:
    """The page of instructions for participants."""
    asked = _asked_for(rules, [Path(path).name for path in public])
    check_it = f"{_called(rules)} validate FILE {asked}--config {SETTINGS}"
    whole = "" if asked else "\nThe public data contain no list of the expected items.\n"
    return f"""# {title}

{find_task(rules.task).about.get("", find_task(rules.task).title)}

Hand in an archive (.zip) with one file. Unpack the public data and check your file there before:

    pip install truecost
    {check_it}
{whole}
A submission is scored with confidence intervals; its report is shown beside it.

The rules do not change: `sha256sum {SETTINGS}` of the public data gives

    {digest}
"""


def _asked_for(rules: Study, public: Sequence[str]) -> str:
    """The option of `validate` with the public list of required ids or trials, where there is one:
    the file with its name (`trials.csv`), or the only public file that is not a text to read.
    """
    wanted = find_task(rules.task).wanted
    lists = [name for name in public if Path(name).suffix.lower() not in (*TEXTS, *IMAGES)]
    named = [name for name in lists if Path(name).stem == wanted]
    found = named or (lists if len(lists) == 1 else [])
    return f"--{wanted} {shlex.quote(found[0])} " if wanted and found else ""


def _evaluation(rules: Study) -> str:
    """The page with the measures, and the rules as the scoring program reads them."""
    task = rules.task or DEFAULT
    names = rules.measures or find_task(task).load().defaults(rules.data.type)
    lines = ["| measure | | better is |", "| --- | --- | --- |"]
    lines += [f"| {m.label} | {m.title} | {m.direction} |" for m in (find(n, task) for n in names)]
    rule = "\n".join(f"    {line}" for line in _published(rules).to_toml().splitlines())
    return "\n".join(
        [
            "# Evaluation",
            "",
            *lines,
            "",
            "Submissions are ranked by the first measure. The rules:",
            "",
            rule,
            "",
        ]
    )


def _competition(
    wishes: ChallengeTable,
    *,
    title: str,
    image: str,
    terms: str,
    pages: Sequence[str],
    columns: Sequence[Mapping[str, Any]],
    days: Mapping[str, str],
    solved: bool,
) -> str:
    """The content of `competition.yaml`."""
    task = {
        "index": 0,
        "name": title,
        "description": "One file is scored against the reference.",
        "scoring_program": "scoring_program.zip",
        "reference_data": "reference_data.zip",
    }
    phase = {
        "index": 0,
        "name": "Evaluation",
        "description": "Submissions are scored at once.",
        **days,
        "max_submissions_per_day": wishes.settled("per_day"),
        "tasks": [0],
        "public_data": "public_data.zip",
    }
    solution = {"index": 0, "name": "Sample", "tasks": [0], "path": "sample_submission.zip"}
    board = {"title": "Results", "key": "main", "columns": [*columns]}
    return yaml(
        {
            "version": 2,
            "title": title,
            "image": image,
            "terms": terms,
            "docker_image": wishes.settled("docker_image"),
            "enable_detailed_results": True,
            "pages": [{"title": Path(p).stem.capitalize(), "file": p} for p in pages],
            "tasks": [task],
            **({"solutions": [solution]} if solved else {}),
            "phases": [phase],
            "leaderboards": [board],
        }
    )


def _logo() -> bytes:
    """A square with three values and their intervals, as PNG."""
    pixels = np.full((240, 240, 3), 255, np.uint8)
    y, x = np.mgrid[:240, :240]
    for row, left, middle, right in ((60, 30, 80, 130), (120, 60, 120, 180), (180, 90, 150, 210)):
        pixels[row - 3 : row + 3, left:right] = (120, 140, 170)
        pixels[(x - middle) ** 2 + (y - row) ** 2 <= 14**2] = (20, 70, 140)
    raw = b"".join(b"\0" + line.tobytes() for line in pixels)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    head = struct.pack(">IIBBBBB", 240, 240, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(raw, 9)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body
