"""Draw the pictures of the README and the documentation: python docs/pictures/draw.py [NAME ...].

`TABLE` has them all: the name of a file, and how the picture is made. Most are pictures of the
page that a command of truecost writes. Data of the demos are real; what `files_of` writes is made
up.
"""

import atexit
import io
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from importlib.resources import files
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory, mkdtemp

import numpy as np
import polars as pl

import truecost as tc
from truecost.cli import run
from truecost.pictures import Axis, Mark, Picture
from truecost.protocol.study import page as check_page
from truecost.report.pictures import chosen
from truecost.report.story import Story
from truecost.study.directory import stored_story
from truecost.tasks.abba import pictures as abba
from truecost.tasks.trials import curves, pictures

PLACE = Path(__file__).parent
WIDTHS = {".": 760.0, "narrow": 360.0}  # folder and pixels: for desktops and for phones
DEMO = Path(str(files("truecost") / "data" / "demo"))
CASE = PLACE.parents[2] / "shared" / "cases" / "scores" / "ec_fvcaus_plda"
WELL = (0, 1, 4)  # exit codes: done, a gate failed, a gate is undecided
DETECTORS = ("--type", "llr", "--map", "id=trial,unit=speaker", "--prior", "0.05")
TEXT = "the birch canoe slid on smooth planks and a parked truck was beside it"
SPOKEN = TEXT.split()


@cache
def page(*words: str) -> Story:
    """What `truecost WORDS -o OUT` stores for its page; names of made-up files stand for them."""
    made = files_of()
    with TemporaryDirectory() as out, redirect_stdout(io.StringIO()) as said:
        with redirect_stderr(said):
            code = run([*(_placed(w, made) for w in words), "--output", out])
        assert code in WELL, said.getvalue()
        return stored_story(out)


def _placed(word: str, made: Path) -> str:
    """A word of a command; a made-up file with its place, `NAME=FILE` too."""
    name, mark, file = word.rpartition("=")
    return f"{name}{mark}{made / file}" if "-*" in file or (made / file).is_file() else word


@cache
def files_of() -> Path:
    """The folder of all made-up files."""
    folder = Path(mkdtemp())
    atexit.register(rmtree, folder)
    every = (transcripts, translations, meetings, submissions, trainings, deployment, costs, sounds)
    for write in every:
        write(folder)
    return folder


def transcripts(folder: Path) -> None:
    """Two recognisers on 6 utterances of each of 24 speakers."""
    rng = np.random.default_rng(1)
    texts: dict[str, list[str]] = {"ref.trn": [], "old.trn": [], "new.trn": []}
    speakers = ["id,speaker"]
    for speaker in range(24):
        hard = rng.gamma(4) / 4
        for clip in range(6):
            said, name = list(rng.permutation(SPOKEN)[:9]), f"s{speaker:02d}_{clip}"
            texts["ref.trn"].append(f"{' '.join(said)} ({name})")
            for system, rate in (("old", 0.12), ("new", 0.08)):
                heard = [w for word in said for w in _heard(rng, word, rate * hard)]
                texts[f"{system}.trn"].append(f"{' '.join(heard)} ({name})")
            speakers.append(f"{name},s{speaker:02d}")
    for name, lines in (texts | {"speakers.csv": speakers}).items():
        (folder / name).write_text("\n".join(lines) + "\n")


SOUNDS = ("alarm", "bark", "glass", "siren", "speech")


def sounds(folder: Path) -> None:
    """Two systems that tell five sounds apart, rare ones among them; and what confusions cost."""
    rng = np.random.default_rng(4)
    labels = rng.choice(5, 600, p=(0.1, 0.2, 0.02, 0.08, 0.6))
    for name, power in (("old", 2.2), ("new", 3.0)):
        scores = rng.normal(0, 1, (600, 5)) + power * np.eye(5)[labels]
        scores[labels == 3, 0] += 1.2  # sirens sound like alarms
        posteriors = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
        table = pl.DataFrame(posteriors.round(6), schema=list(SOUNDS))
        table = table.with_columns(label=pl.Series([SOUNDS[k] for k in labels]))
        table.with_row_index("clip").write_csv(folder / f"{name}-sounds.csv")
    priced = 1 - np.eye(5, dtype=int)
    priced[[0, 3], 4] = 10  # an alarm that is taken for speech
    text = "\n".join(",".join(map(str, row)) for row in priced.tolist())
    (folder / "sounds-costs.csv").write_text(text + "\n")


def _heard(rng: np.random.Generator, word: str, rate: float) -> Iterator[str]:
    """What a recogniser makes of a word: below a third a deletion, then others, then insertions."""
    luck = rng.random() / rate
    if luck >= 1 / 3:
        yield str(rng.choice(SPOKEN)) if luck < 2 / 3 else word
    if 2 / 3 <= luck < 1:
        yield str(rng.choice(SPOKEN))


def translations(folder: Path) -> None:
    """Two systems that translate 150 sentences of 30 documents."""
    rng = np.random.default_rng(2)
    lines: dict[str, list[str]] = {n: [] for n in ("ref.txt", "old.txt", "new.txt", "doc.txt")}
    for document in range(30):
        hard = rng.gamma(4) / 4
        for _ in range(5):
            said = rng.permutation(SPOKEN)[:12]
            lines["ref.txt"].append(" ".join(said))
            for system, rate in (("old", 0.22), ("new", 0.15)):
                lost = rng.random(12) < rate * hard
                other = np.where(lost, rng.choice(SPOKEN, 12), said)
                lines[f"{system}.txt"].append(" ".join(other[rng.random(12) > 0.3 * lost]))
            lines["doc.txt"].append(f"d{document:02d}")
    for name, texts in lines.items():
        (folder / name).write_text("\n".join(texts) + "\n")


def meetings(folder: Path) -> None:
    """Two systems that say who speaks when in twelve meetings."""
    turns, rng = np.arange(240), np.random.default_rng(1)
    speakers = np.array(["ann", "bob", "cho"])[turns % 3]
    start = 5.0 * (turns % 20) + 0.5
    _write_turns(folder / "ref.rttm", start, start + 4.5, speakers)
    for name, rate in (("old", 0.6), ("new", 0.4)):
        hard = rate * np.repeat(rng.gamma(4, size=12) / 4, 20)
        late, early = np.clip(hard * rng.exponential(size=(2, 240)) - 0.3, -0.4, 2)
        found = np.where(rng.random(240) < hard / 4, np.roll(speakers, 1), speakers)
        _write_turns(folder / f"{name}.rttm", start + late, start + 4.5 - early, found)


def _write_turns(path: Path, start: np.ndarray, end: np.ndarray, speaker: np.ndarray) -> None:
    lines = [
        f"SPEAKER meeting{k // 20 + 1:02d} 1 {a:.2f} {b - a:.2f} <NA> <NA> {who} <NA> <NA>"
        for k, (a, b, who) in enumerate(zip(start, end, speaker, strict=True))
    ]
    path.write_text("\n".join(lines) + "\n")


def submissions(folder: Path) -> None:
    """The detectors of the demo, and what others make of their scores."""
    rng, found = np.random.default_rng(3), pl.read_csv(DEMO / "network.csv")
    found.write_csv(folder / "network.csv")
    pl.read_csv(DEMO / "logistic.csv").write_csv(folder / "logistic.csv")
    noise = rng.normal(0, 1.2, (5, len(found)))
    others = {"doubled": found["score"] * 2, "shifted": found["score"] - 2.5}
    others |= {f"echo-{k + 1}": found["score"] + (1 + k) * some for k, some in enumerate(noise)}
    for name, scores in others.items():
        found.with_columns(score=scores).write_csv(folder / f"{name}.csv")


def trainings(folder: Path) -> None:
    """Five trainings of each of two methods: the demo's scores, disturbed."""
    for name, spread in (("logistic", 0.4), ("network", 0.8)):
        found = pl.read_csv(DEMO / f"{name}.csv")
        for seed in range(1, 6):
            noise = np.random.default_rng([len(name), seed]).normal(0, spread, len(found) + 1)
            moved = found.with_columns(score=found["score"] + noise[0] + noise[1:], seed=seed)
            moved.write_csv(folder / f"{name}-{seed}.csv")


def deployment(folder: Path) -> None:
    """Items that two models accepted, of 400 users; one in four has a label."""
    rng, items = np.random.default_rng(4), 24000
    user, label = rng.integers(0, 400, items), (rng.random(items) < 0.3).astype(int)
    sound = 4 * label - 2 + rng.normal(0, 1.4, items)
    a, b = (sound + rng.normal(0, spread, items) for spread in (1.1, 0.8))
    machine = 1 / (1 + np.exp(-(0.6 * sound + 3 * label - 1.5 + rng.normal(0, 0.9, items))))
    every = pl.DataFrame(
        {
            "id": np.arange(items),
            "unit": user,
            "collected_by": np.array(["A", "B"])[user % 2],
            "score_a": a,
            "score_b": b,
            "machine": machine,
            "label": label,
            "heard": rng.random(items) < 0.25,
        }
    ).with_columns(label=pl.when("heard").then("label"))
    every = every.drop("heard").filter(np.where(user % 2, b >= 0, a >= 0.5))
    every.write_csv(folder / "candidate.csv")


def costs(folder: Path) -> None:
    """Errors of two systems on 400 items after so much help, in eight runs each."""
    rng = np.random.default_rng(3)
    for name, pace in (("asks-well", 18), ("asks-blindly", 40)):
        rows = ["cost,seed,errors,n"]
        for seed in range(8):
            for cost in (0, 10, 20, 40, 60, 80):
                wrong = rng.binomial(400, 0.05 + 0.3 * np.exp(-cost / pace))
                rows.append(f"{cost},{seed},{wrong},400")
        (folder / f"{name}.csv").write_text("\n".join(rows) + "\n")


def gates() -> Story:
    """The demo with quality gates."""
    path = files_of() / "gates.toml"
    path.write_text(
        'measures = ["act_dcf", "cllr"]\n[data]\ntype = "llr"\n'
        'map = { id = "trial", unit = "speaker" }\n[application]\nprior = 0.05\n'
        + "".join(f'[systems.{n}]\nfile = "{n}.csv"\n' for n in ("logistic", "network"))
        + '[[gate]]\nmeasure = "act_dcf"\nmax_upper = 0.7\n'
        + '[[gate]]\nmeasure = "cllr"\nmax_upper = 0.35\n'
    )
    return page("run", "gates.toml")


@cache
def split() -> tc.protocol.Checked:
    """The demo's trials divided one by one: speakers lie on both sides."""
    found = pl.read_csv(DEMO / "network.csv")
    sets = np.where(np.arange(len(found)) % 97 < 2, "eval", "train")
    sets[np.arange(len(found)) % 97 == 2] = "dev"
    path = files_of() / "split.csv"
    found.with_columns(set=sets).write_csv(path)
    columns = {"id": "trial", "label": "label", "group": "speaker", "set": "set"}
    return tc.protocol.check(tc.protocol.read_samples(str(path), columns), prior=0.05)


def roc() -> Picture:
    """The operating characteristics of the demo's detectors, with linear axes."""
    options = tc.trials.Options("llr", {"id": "trial", "unit": "speaker"})
    names = ("logistic", "network")
    found = [tc.trials.load(tc.read(str(DEMO / f"{n}.csv")), options, n) for n in names]
    scoring = tc.Scoring(tc.Application.detection(prior=0.05))
    return pictures.roc(curves.det_curves(found, scoring))


def mapping() -> Picture:
    """Probabilities of true accepts from the scores of a machine."""
    log = tc.read(str(files_of() / "candidate.csv"))
    options = tc.abba.LogOptions(threshold_a=0.5, threshold_b=0.0)
    found = tc.abba.load(log, options, "candidate")
    return abba.probability_mapping(tc.abba.calibrate_machine(found))


@cache
def verification() -> list[tc.Trials]:
    """A real speaker-verification system as it is, and calibrated (docs/study-verification.md)."""
    scores = np.load(CASE / "scores.npy").astype(np.float64)
    targets = np.load(CASE / "targets.npy")
    prior = targets.mean()
    llr = scores[:, 1] - scores[:, 0] - np.log(prior / (1 - prior))
    raw = tc.Trials.from_arrays(llr, targets, kind="llr", name="raw")
    affine = tc.calibrate(raw, "affine").trials
    return [raw, tc.Trials.from_arrays(affine.scores, affine.labels, kind="llr", name="calibrated")]


def hero() -> Picture:
    """What it costs, normalised, with one target in a hundred trials."""
    measures = ("act_dcf", "min_dcf", "cllr", "min_cllr")
    scoring = tc.Scoring(tc.Application.detection(prior=0.01), measures=measures)
    rows = [row for system in verification() for row in tc.score_system(system, scoring)]
    return pictures.cost_bars(rows)


def cost_of_verification() -> Picture:
    """Its cost against the threshold."""
    scoring = tc.Scoring(tc.Application.detection(prior=0.01))
    return pictures.cost_against_threshold(curves.cost_curves(verification(), scoring))


def grown(name: str, column: str, label: str) -> Picture:
    """What trials in files take, by their number: figures of benchmarks/large.py."""
    found = pl.read_csv(PLACE.parents[1] / "benchmarks" / "large.csv")
    marks = []
    for work in found["work"].unique(maintain_order=True):
        own = found.filter(work=work)
        x, y = own["trials"].to_numpy(), own[column].to_numpy()
        marks.append(Mark(kind="line", x=x.astype(float), y=y, series=work))
        told = zip(x.tolist(), y.tolist(), strict=True)
        marks += [
            Mark(kind="dot", x=n, y=v, series=work, label=f"{work}: {n:,} trials, {v:g}")
            for n, v in told
        ]
    ticks = {1e5: "100,000", 1e6: "1 million", 1e7: "10 million", 1e8: "100 million"}
    across = Axis(label="trials", kind="log", ticks=tuple(ticks), names=tuple(ticks.values()))
    return Picture(name=name, x=across, y=Axis(label=label, kind="log"), marks=tuple(marks))


def of_page(*words: str) -> Callable[[str], Callable[[], Picture]]:
    """How a picture of the page of a command is made, by its name or heading."""
    return lambda name: lambda: chosen(page(*words), name)


BOARD = ("network", "logistic", "doubled", "shifted", *(f"echo-{k}" for k in range(1, 6)))
RUNS = ("logistic=logistic-*.csv", "network=network-*.csv", "--runs", "seed")
LINES = ("ref.txt", "old.txt", "new.txt", "--lines", "document=doc.txt", "--map", "unit=document")
SPEAKERS = ("--metadata", "speakers.csv", "--map", "unit=speaker")
LOG = ("candidate.csv", "--threshold-a", "0.5", "--threshold-b", "0")

detection, terms, stream, lifelong = (
    of_page("demo", name) for name in ("trials", "terms", "streams", "lifelong")
)
board = of_page("leaderboard", *(f"{n}.csv" for n in BOARD), *DETECTORS, "--measure", "act_dcf")
methods = of_page("methods", "compare", *RUNS, *DETECTORS, "--measure", "act_dcf")
POSTERIORS = ("--type", "posterior", "--id", "clip", "--score", "+".join(SOUNDS))
classified = of_page(
    *("compare", "old-sounds.csv", "new-sounds.csv", *POSTERIORS),
    *("--cost-matrix", "sounds-costs.csv"),
)
recognised = of_page("transcripts", "compare", "ref.trn", "old.trn", "new.trn", *SPEAKERS)
translated = of_page("translation", "compare", *LINES)
diarized = of_page("diarization", "compare", "ref.rttm", "old.rttm", "new.rttm")
collected = of_page("abba", "score", *LOG)
tried = of_page("abba", "threshold", *LOG, "--max-rfpr", "1")
helped = of_page("lifelong", "curve", "asks-well.csv", "asks-blindly.csv")

TABLE: dict[str, Callable[[], Picture]] = {
    "costs": detection("costs"),
    "det": detection("det"),
    "roc": roc,
    "threshold": detection("threshold"),
    "reliability": detection("reliability"),
    "subsets": detection("subsets"),
    "differences": detection("differences"),
    "gates": lambda: chosen(gates(), "Gates: Values of act_dcf"),
    "leaderboard": board("leaderboard"),
    "recall": classified("recall"),
    "precision": classified("precision"),
    "confusions": classified("confusions"),
    "cost-matrix": classified("cost-matrix"),
    "runs": methods("runs"),
    "variance": methods("variance"),
    "check-leaks": lambda: check_page.leaks(split()),
    "check-classes": lambda: check_page.classes(split()),
    "transcripts-errors": recognised("errors"),
    "transcripts-units": recognised("units"),
    "transcripts-pairs": recognised("pairs"),
    "translation-ngrams": translated("ngrams"),
    "diarization-errors": diarized("errors"),
    "diarization-units": diarized("units"),
    "terms-values": terms("values"),
    "terms-det": terms("det"),
    "terms-threshold": terms("threshold"),
    "terms-queries": terms("queries"),
    "terms-worst": lambda: terms("worst_queries")().first(12),
    "terms-scores": terms("Calibration of the scores: full"),
    "terms-time": terms("resources_time"),
    "terms-memory": terms("resources_memory"),
    "stream-budgets": stream("Questions and costs: imlm"),
    "stream-budgets-dcf": stream("Questions and costs: act_dcf"),
    "stream-phases": stream("Over the stream: margin-3, imlm so far"),
    "stream-windows": stream("Over the stream: margin-3, imlm by window"),
    "stream-streams": stream("Streams one by one: imlm"),
    "abba-ratios": collected("ratios"),
    "abba-plane": tried("plane"),
    "abba-thresholds": tried("ratios-by-threshold"),
    "abba-collected": collected("collected"),
    "abba-machine": collected("machine-labels"),
    "abba-mapping": mapping,
    "lifelong-policies": lifelong("policies"),
    "lifelong-versions": lifelong("versions"),
    "lifelong-matrix": lifelong("matrix"),
    "lifelong-times": lifelong("times"),
    "lifelong-penalised": lifelong("penalised"),
    "lifelong-sequence": lifelong("sequence"),
    "lifelong-curve": helped("learning"),
    "scale-time": lambda: grown("scale-time", "cpu_seconds", "CPU seconds"),
    "scale-memory": lambda: grown("scale-memory", "peak_gb", "peak memory, GB"),
}
REAL: dict[str, Callable[[], Picture]] = {  # where `shared` lies beside the repository
    "hero": hero,
    "study-verification": cost_of_verification,
}
LONG = tuple(n for n in TABLE if n.startswith(("stream", "lifelong")) and n != "lifelong-curve")


def main() -> None:
    """Write the pictures that are named, or all of them, beside this file, in each width."""
    table = TABLE | (REAL if CASE.is_dir() else {})
    for name in sys.argv[1:] or table:
        picture = table[name]()
        for folder, width in WIDTHS.items():
            (PLACE / folder / f"{name}.svg").write_bytes(picture.svg(width).encode())


if __name__ == "__main__":
    main()
