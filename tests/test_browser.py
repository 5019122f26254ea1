"""The report in a real browser: no network, no faults, no script needed, accessible, legible.

Each report is opened wide and narrow, light and dark, with every table open. One report of each
kind of page runs with every change; other reports and other views run with the long studies.
Without Chromium, playwright or axe-core the tests are skipped, or fail when
TRUECOST_BROWSER=required; TRUECOST_BROWSER=skip leaves them out.
"""

import contextlib
import html
import io
import itertools
import json
import re
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files

import numpy as np
import polars as pl
import pytest

import accepted
import searched
import spoken
import streaming
from browser import WIDTHS, Visit, require, screenshots, started, visit
from truecost import study
from truecost.cli import run
from truecost.core import digits

LONG = "a_name_without_any_space_that_goes_on_and_on_" * 2
AWKWARD = ("<script>alert('x')</script>", "\"quoted\" & 'more' $5$ a_{n} ^2", LONG)
# One of each kind of page: of the tasks, of boards, of methods; one with awkward names.
KINDS = (
    *("demo", "awkward", "board", "methods", "transcripts", "translation", "diarization"),
    *("deployments", "searches", "learning", "lifelong"),
)
OTHERS = (
    *("one", "classes", "numbers", "few", "several", "thresholds", "search", "sweep"),
    *("ages", "penalised"),
)
VIEWS = (
    ("wide", "light"),
    ("narrow", "dark"),
    ("middle", "light"),
    ("wide", "dark"),
    ("narrow", "light"),
)
# The richest reports in all views; the others in each width, or in two of them.
OF_ALL = ("demo", "awkward", "transcripts")
LARGE = ("several", "board", "methods", "lifelong", "ages")


def views(name):
    """The views of a report; of most the first two run with every change."""
    found = VIEWS if name in OF_ALL else VIEWS[:2] if name in LARGE else VIEWS[:3]
    often = 0 if name in OTHERS else 5 if name == "demo" else 2
    for k, view in enumerate(found):
        marks = [] if k < often else [pytest.mark.long]
        yield pytest.param((name, view), marks=marks, id=f"{name}, {' '.join(view)}")


OPENED = [view for name in (*KINDS, *OTHERS) for view in views(name)]
# axe finds the same in both views of a page, but for colours, which are measured in each view
ONCE = [
    pytest.param(
        *view.values,
        id=view.id,
        marks=[*view.marks, *[pytest.mark.long] * (view.values[0][1] == VIEWS[0])],
    )
    if view.values[0][0] != "demo"
    else view
    for view in OPENED
]
REPORTS = [*KINDS, *(pytest.param(name, marks=pytest.mark.long) for name in OTHERS)]
LEAST_TEXT = 9.0  # CSS pixels
LEAST_CONTRAST = 4.5  # WCAG 2.2, 1.4.3
SIDES = ("top", "right", "bottom", "left")
PRINTED = 718  # CSS pixels of A4 between margins of 1 cm


def tell(*words, codes=(0,)):
    """Run the command line, which must end with one of these codes."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        code = run([*map(str, words)])
    assert code in codes, said.getvalue()


def demo(folder):
    tell("demo", "-o", folder / "out")


def one(folder):
    """One system whose scores are only ranks, no units."""
    rng = np.random.default_rng(1)
    label = rng.integers(0, 2, 300)
    pl.DataFrame({"score": rng.normal(label), "label": label}).write_csv(folder / "a.csv")
    tell("score", folder / "a.csv", "--type", "score", "--replicates", 100, "-o", folder / "out")


def awkward(folder):
    """Names of systems and subsets with markup, quotes, dollars and without end."""
    rng = np.random.default_rng(2)
    label = rng.integers(0, 2, 600)
    unit = rng.integers(0, 40, 600)
    room = [AWKWARD[u % 3] for u in unit]
    systems = []
    for k, name in enumerate(AWKWARD):
        frame = {"id": np.arange(600), "score": rng.normal(2 * label - 1, 1 + k), "label": label}
        pl.DataFrame({**frame, "unit": unit, "room": room}).write_csv(folder / f"{k}.csv")
        systems.append(f"{name}={folder / f'{k}.csv'}")
    how = ("--type", "llr", "--subset", "room", "--measure", "act_dcf,min_dcf")
    tell("compare", *systems, *how, "--replicates", 100, "-o", folder / "out")


def classes(folder):
    """Three classes with posteriors."""
    rng = np.random.default_rng(3)
    label = rng.integers(0, 3, 400)
    logits = rng.normal(size=(400, 3)) + 2 * np.eye(3)[label]
    chances = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    columns = dict(zip("abc", chances.T, strict=True))
    names = {"label": np.array(list("abc"))[label], "unit": rng.integers(0, 50, 400)}
    pl.DataFrame({**columns, **names}).write_csv(folder / "a.csv")
    how = ("--type", "posterior", "--map", "score=a+b+c", "--replicates", 100)
    tell("score", folder / "a.csv", *how, "-o", folder / "out")


def numbers(folder):
    """Predicted numbers of two systems, by region."""
    rng = np.random.default_rng(4)
    truth, unit = rng.gamma(2, 1e4, 300), rng.integers(0, 30, 300)
    for name, noise in (("a", 3e3), ("b", 9e3)):
        frame = {"id": np.arange(300), "score": truth + rng.normal(0, noise, 300), "label": truth}
        pl.DataFrame({**frame, "unit": unit, "region": unit % 4}).write_csv(folder / f"{name}.csv")
    how = ("--type", "number", "--subset", "region", "--replicates", 100)
    tell("compare", folder / "a.csv", folder / "b.csv", *how, "-o", folder / "out")


def few(folder):
    """Few units, no errors, and measures that are undefined: the report warns of all of them."""
    frame = {"score": [4.0, 3.0, -2.0, -3.0, 2.0, -1.0], "label": [1, 1, 0, 0, 1, 0]}
    frame |= {"unit": ["x", "y", "x", "y", "z", "z"], "room": ["p", "q", "p", "q", "r", "r"]}
    pl.DataFrame(frame).write_csv(folder / "a.csv")
    how = ("--type", "llr", "--prior", 0.001, "--subset", "room", "--subset", "score > 2.5")
    tell("score", folder / "a.csv", *how, "--replicates", 100, "-o", folder / "out")


def runs(folder, name, seed, gain):
    """Scores of one system; names are as long as they get in practice."""
    rng = np.random.default_rng(seed)
    label, unit = np.arange(480) % 3 == 0, np.arange(480) // 8
    frame = {"id": np.arange(480), "score": gain * (2 * label - 1) + rng.normal(size=480)}
    frame |= {"label": label.astype(int), "unit": unit, "room": unit % 3, "seed": seed}
    pl.DataFrame(frame).write_csv(folder / f"{name}.csv")
    return folder / f"{name}.csv"


STUDY = """
measures = ["act_dcf", "min_dcf", "cllr", "min_cllr"]
baseline = "the-old-one"
subsets = { room = "room" }
interval = { replicates = 100 }
data = { type = "llr" }
collections = { matched = {}, mismatched = {} }

[applications]
few_targets = { preset = "sre-2010" }
even = { prior = 0.5 }
screening = { prior = 0.01, cost_miss = 30 }

[[gate]]
measure = "act_dcf"
max_upper = 0.5
application = "even"

[[gate]]
name = "no worse than before"
measure = "cllr"
baseline = "the-old-one"
max_upper_delta = 0.0
"""


def several(folder):
    """Three systems on two collections for three applications, with subsets and gates."""
    text = STUDY
    for k, name in enumerate(("the-old-one", "the-new-one", "another-new-one")):
        for j, collection in enumerate(("matched", "mismatched")):
            path = runs(folder, f"{name}-{collection}", k + 10 * j, (1 + k) / (1 + j))
            text += f'\n[systems."{name}".files]' * (j == 0) + f'\n{collection} = "{path}"'
    (folder / "study.toml").write_text(text, encoding="utf-8")
    tell("run", folder / "study.toml", "-o", folder / "out", codes=(0, 1, 4))


def board(folder):
    """Eight submissions, two of them alike."""
    files = [runs(folder, f"submission-of-team-{k}", min(k, 6), 2.5 - 0.3 * k) for k in range(8)]
    files[7].write_bytes(files[0].read_bytes())
    how = ("--type", "llr", "--prior", 0.1, "--replicates", 100)
    tell("leaderboard", *files, *how, "-o", folder / "out")


def methods(folder):
    """Two methods of four runs each, with subsets."""
    for name, gain in (("first", 1.0), ("second", 1.4)):
        for seed in range(4):
            runs(folder, f"{name}-{seed}", seed, gain)
    patterns = [f"{name}={folder}/{name}-*.csv" for name in ("first", "second")]
    how = ("--runs", "seed", "--type", "llr", "--subset", "room", "--replicates", 100)
    tell("methods", "compare", *patterns, *how, "-o", folder / "out")


def transcripts(folder):
    """Three systems with awkward names; texts in many scripts, and markup among them."""
    words = ("hello", "<b>&", "na\u00efve", "\u4f60\u597d", "\u05e9\u05dc\u05d5\u05dd", "x" * 60)
    rates = dict(zip((AWKWARD[0], "\u05d0\u05d1\u05d2", LONG), (0.1, 0.2, 0.3), strict=True))
    limit = {"measure": "wer", "max_upper": 0.07, "name": AWKWARD[1]}
    more = {"vocabulary": words, "speaker": LONG + "{}", "utterance": AWKWARD[0] + "{}"}
    outcome = spoken.transcripts(folder, rates, subsets={"room": "room"}, gate=[limit], **more)
    study.write(outcome, str(folder / "out"))


def translation(folder):
    """One system, many documents."""
    study.write(spoken.translations(folder, {"mine": 0.2}, documents=30), str(folder / "out"))


def diarization(folder):
    """Two systems on sixteen recordings."""
    outcome = spoken.diarizations(folder, {"the-old-one": 0.3, "the-new-one": 0.1})
    study.write(outcome, str(folder / "out"))


ABBA = ("--map", f"{accepted.MAP},machine=m", "--threshold-a", 0.5, "--threshold-b", 0.6)


def deployments(folder):
    """Two deployments, one with an awkward name, by all estimators and subset."""
    for name, labelled, seed in (("a.csv", 0.4, 1), ("b.csv", 1.0, 2)):
        accepted.written(folder, name, machine=True, labelled=labelled, seed=seed)
    logs = (f"{AWKWARD[0]}={folder / 'a.csv'}", folder / "b.csv")
    how = ("--exposure-a", 1500, "--exposure-b", 1500, "--subset", "room", "--replicates", 200)
    tell("abba", "score", *logs, *ABBA, *how, "-o", folder / "out")


def thresholds(folder):
    """Thresholds by two estimators and two rules, with subsets."""
    accepted.written(folder, machine=True, labelled=0.5, number=5000)
    rules = ("--max-rfpr", 0.4, "--min-rrecall", 0.9, "--estimator", "corrected,direct")
    how = (*ABBA, *rules, "--subset", "room", "--replicates", 200, "-o", folder / "out")
    tell("abba", "threshold", folder / "log.csv", *how)


TERMS = ("--preset", "nist-std-2006", "--replicates", 100)


def searches(folder):
    """Two searches with awkward names and queries, by subset, with what one of them took."""
    searched.written(folder)
    texts = (*AWKWARD, "\u542c\u5230" * 12, "\u05e9\u05dc\u05d5\u05dd", "query text " * 14)
    kwlist = (folder / "t.kwlist.xml").read_text(encoding="utf-8")
    for word, text in zip(searched.WORDS, texts, strict=False):
        said = f"<kwtext>{html.escape(text)}</kwtext>"
        kwlist = kwlist.replace(f"<kwtext>{word}</kwtext>", said)
    (folder / "t.kwlist.xml").write_text(kwlist, encoding="utf-8")
    tell("resources", "-o", folder / "i.json", "--phase", "indexing", "--", "true")
    submissions = folder / "submissions"
    lists = (f"{AWKWARD[0]}={submissions / 'fair.kwslist.xml'}", submissions / "good.kwslist.xml")
    given = ("--ecf", folder / "e.ecf.xml", "--occurrences", folder / "o.csv")
    how = (*given, "--kwlist", folder / "t.kwlist.xml", "--subset", "words", "--type", "llr")
    took = ("--indexing", f"good={folder / 'i.json'}")
    tell("terms", "compare", *lists, *how, *took, *TERMS, "-o", folder / "out")


def search(folder):
    """One search by document, and what it took."""
    searched.written(folder)
    tell("resources", "-o", folder / "i.json", "--phase", "indexing", "--", "true")
    tell("resources", "-o", folder / "s.json", "--phase", "searching", "--", "true")
    given = [folder / name for name in ("e.ecf.xml", "r.rttm", "t.kwlist.xml")]
    files = [*zip(("--ecf", "--rttm", "--kwlist"), given, strict=True)]
    took = ("--indexing", folder / "i.json", "--searching", folder / "s.json", "--query-seconds", 9)
    how = (*itertools.chain(*files), *took, "--factors", "document", *TERMS)
    tell("terms", "score", folder / "submissions" / "fair.kwslist.xml", *how, "-o", folder / "out")


def learning(folder):
    """Two systems on five streams with awkward names, by subset, with gates."""
    names = (*AWKWARD, "\u542c\u5230" * 12, "\u05e9\u05dc\u05d5\u05dd")
    known = {}
    for name, seed in (("a", 0), ("b", 5)):
        found = []
        for k, stream in enumerate(names):
            events, labels = streaming.events(seed=seed + k, batches=6)
            named = ({"id": f"{k}-{e['id']}"} if "id" in e else {} for e in events)
            found += [{**e, "stream": stream, **own} for e, own in zip(events, named, strict=True)]
            known |= {f"{k}-{item}": label for item, label in labels.items()}
        streaming.write_log(folder / f"{name}.jsonl", found)
    rooms = [AWKWARD[int(item[-1]) % 3] for item in known]
    frame = pl.DataFrame({"id": [*known], "label": [*known.values()], "room": rooms})
    frame.write_csv(folder / "labels.csv")
    how = ("--labels", folder / "labels.csv", "--subset", "room", "--replicates", 100)
    logs = (f"{AWKWARD[0]}={folder / 'a.jsonl'}", folder / "b.jsonl")
    tell("streams", "compare", *logs, *how, "-o", folder / "out")


SWEEP = """
task = "streams"
source = { name = "digits", targets = ["3", "8"], items = 400 }
loop = { batch = 20, passive = true }
interval = { replicates = 100 }

[[gate]]
measure = "imlm"
phase = "post"
max_upper = 0.5
"""


def sweep(folder):
    """Three budgets of two strategies on two streams of digits, beside the passive baseline."""
    (folder / "study.toml").write_text(SWEEP, encoding="utf-8")
    tried = ("--budgets", "1,2,4", "--strategies", "margin,random", "--seeds", 2)
    out = ("-o", folder / "out")
    tell("streams", "sweep", folder / "study.toml", *tried, *out, codes=(0, 1, 4))


LIFELONG = """
task = "lifelong"
measures = ["policy_score", "penalised_score", "adapted_score", "penalty", "generalisation_gain",
  "forgetting_max", "forgetting_first", "forward_transfer", "help_seconds", "lifelong_score"]
source = { name = "digits", options = { days = 2, items = 10, test_items = 10, initial = 20 } }
loop = { seeds = 2 }
help = { questions = 3 }
policies.today = { kind = "recent", half_life = 1 }
policies.always = { kind = "uniform" }
interval = { replicates = 100 }

[systems."NAME".learner]
name = "logistic"

[systems.plastic.learner]
name = "sklearn"
model = "sklearn.linear_model:SGDClassifier"
update = "partial"
options = { loss = "log_loss", scale = "seen" }
"""


def lifelong(folder):
    """Two systems that a person helps, one with an awkward name, beside their baselines."""
    text = LIFELONG.replace("NAME", "a_name_that_goes_on_" * 3)
    (folder / "study.toml").write_text(text, encoding="utf-8")
    tell("run", folder / "study.toml", "-o", folder / "out")


def ages(folder):
    """Four matrices of many versions and times, with awkward names, under six policies."""
    rng = np.random.default_rng(11)
    named = []
    for k, name in enumerate((*AWKWARD, "plain")):
        frame = pl.DataFrame(
            {"version": v, "time": t, "seed": s, "score": rng.uniform(0.1, 0.2) + 0.01 * abs(v - t)}
            for v, t, s in itertools.product(range(31), range(1, 31), range(3))
        )
        frame.write_csv(folder / f"{k}.csv")
        named.append(f"{name}={folder / f'{k}.csv'}")
    policies = "uniform,recent:1,recent:3,recent:9,conservative:2,conservative:8"
    how = ("--lower", "--policy", policies, "--replicates", 50)
    tell("lifelong", "compare", *named, *how, "-o", folder / "out")


def penalised(folder):
    """One translation before and after help, in two scores."""
    right = [f"it was the {k}th of many sentences that were put out" for k in range(1, 31)]
    outputs = {"right": right, "base": [t.replace("of many", "from") for t in right]}
    outputs["adapted"] = right[:6] + outputs["base"][6:20] + right[20:]
    for name, texts in outputs.items():
        (folder / f"{name}.txt").write_text("\n".join(texts) + "\n", encoding="utf-8")
    (folder / "ids.txt").write_text("\n".join(map(str, range(1, 7))), encoding="utf-8")
    files = [word for n in ("base", "adapted") for word in (f"--{n}", folder / f"{n}.txt")]
    files += ["--reference", folder / "right.txt", "--corrected", folder / "ids.txt"]
    how = ("--output-kind", "translation", "--score", "bleu,ter", "--replicates", 100)
    tell("lifelong", "penalise", *files, *how, "-o", folder / "out")


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """A report by name, each made once."""
    made = {}

    def report(name):
        if name not in made:
            folder = tmp_path_factory.mktemp(name)
            globals()[name](folder)
            made[name] = folder / "out" / "report.html"
        return made[name]

    return report


@pytest.fixture(scope="module")
def browser():
    require(axe=True)
    with started() as running:
        yield running


@dataclass
class Seen:
    """A report in one view, every table open; measured once."""

    name: str
    view: str
    visit: Visit

    @cached_property
    def words(self):
        return self.visit.measure("words")

    @cached_property
    def pictures(self):
        return self.visit.measure("pictures")

    @cached_property
    def tree(self):
        return self.visit.tree()


@pytest.fixture(scope="module", params=OPENED)
def seen(request, browser, reports):
    name, (width, scheme) = request.param
    with visit(browser, reports(name), WIDTHS[width], scheme) as opened:
        opened.measure("open")
        yield Seen(name, width, opened)


def test_asks_nothing_of_the_network_and_reports_no_fault(seen, reports):
    assert seen.visit.requests == [reports(seen.name).as_uri()]
    assert seen.visit.faults == []


@pytest.mark.parametrize("seen", ONCE, indirect=True)
def test_axe_finds_nothing_serious(seen):
    found = seen.visit.axe(colours=seen.name in OF_ALL)
    grave = [f for f in found if f["impact"] in ("serious", "critical")]
    assert [(f["id"], f["help"], [n["html"][:120] for n in f["nodes"]]) for f in grave] == []


def test_text_outside_pictures_is_dark_enough(seen):
    texts = seen.visit.measure("texts")
    assert texts
    assert [(t["text"], t["contrast"]) for t in texts if t["contrast"] < LEAST_CONTRAST] == []


@pytest.mark.parametrize(("scheme", "paper"), [("light", "#ffffff"), ("dark", "#14171b")])
def test_colours_of_words_can_be_read_on_every_page(scheme, paper):
    """Few pages show all of them, and axe looks at most pages in one scheme."""
    css = (files("truecost") / "report" / "page.css").read_text(encoding="utf-8")
    light, dark = re.findall(r":root \{ (--tint.*?) \}", css)
    colours = dict(re.findall(r"--(\w+): (#\w{6})", light if scheme == "light" else dark))
    for ground in (paper, colours.pop("tint")):
        for name, colour in colours.items():
            assert contrast(colour, ground) >= LEAST_CONTRAST, (name, ground)


def contrast(one, other):
    """The ratio of WCAG 2.2 of two colours."""
    dark, light = sorted(map(luminance, (one, other)))
    return (light + 0.05) / (dark + 0.05)


def luminance(colour):
    """Relative luminance of WCAG 2.2."""
    parts = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ (0.2126, 0.7152, 0.0722))


def test_the_page_does_not_scroll_sideways(seen):
    widths = seen.visit.measure("widths")
    assert widths["content"] <= widths["window"]


def test_every_picture_fits_and_has_a_name(seen):
    assert seen.pictures
    width = seen.visit.measure("widths")["window"]
    for picture in seen.pictures:
        assert len(picture["name"]) > 20
        assert 0 <= picture["left"] < picture["right"] <= width


def test_every_figure_has_a_table_of_its_numbers(seen):
    figures = seen.visit.measure("figures")
    assert figures
    for figure in figures:
        assert figure["tables"], f"no table: {figure['name'][:80]}"


def test_every_table_is_one_for_a_screen_reader_too(seen):
    tables = seen.visit.measure("tables")
    for table in tables:
        assert table_faults(table) == []
    roles = [node["role"] for node in seen.tree]
    assert roles.count("table") == len(tables)
    assert roles.count("columnheader") == sum(t["columns"] for t in tables)
    assert roles.count("rowheader") == sum(len(t["rows"]) for t in tables)


def table_faults(table):
    """What keeps a reader from a table or from its meaning."""
    widths = {row["width"] for row in table["rows"]}
    faults = {
        "no caption": not table["name"],
        "not visible": not table["visible"],
        "hidden from screen readers": table["hiddenByPicture"],
        "no rows": not table["rows"],
        "no digits": not table["digits"],
        f"{table['columns']} column headers for rows of {widths}": widths != {table["columns"]},
        "rows without a header": not all(row["named"] for row in table["rows"]),
    }
    return [name for name, found in faults.items() if found]


def test_a_screen_reader_reads_the_name_of_every_picture(seen):
    names = [n["name"] for n in seen.tree if n["role"] in ("image", "img")]
    assert all(len(name) > 20 for name in names)
    wanted = {" ".join(p["name"].split()) for p in seen.pictures}
    assert wanted <= {" ".join(name.split()) for name in names}


def test_text_in_pictures_is_large_and_dark_enough(seen):
    assert seen.words
    small = [(w["text"], w["size"]) for w in seen.words if w["size"] < LEAST_TEXT - 0.01]
    pale = [(w["text"], w["contrast"]) for w in seen.words if w["contrast"] < LEAST_CONTRAST]
    assert (small, pale) == ([], [])


def test_text_in_pictures_neither_collides_nor_is_cut(seen):
    assert collisions(seen.words) == []
    assert [w["text"] for w in seen.words if outside(w)] == []


def outside(word, slack=1.0):
    """Whether a corner of the text lies outside its picture."""
    frame, xs, ys = word["frame"], *zip(*word["core"], strict=True)
    return (
        min(xs) < frame["left"] - slack
        or max(xs) > frame["right"] + slack
        or min(ys) < frame["top"] - slack
        or max(ys) > frame["bottom"] + slack
    )


def collisions(words):
    """Pairs of texts of one picture whose boxes (turned as they are) overlap."""
    return [
        (a["text"], b["text"])
        for a, b in itertools.combinations(words, 2)
        if a["picture"] == b["picture"] and overlap(np.array(a["core"]), np.array(b["core"]))
    ]


def overlap(a, b):
    """Whether two convex quadrilaterals overlap: no side of either one separates them."""
    for corners in (a, b):
        sides = np.roll(corners, -1, axis=0) - corners
        for normal in sides[:2] @ np.array([[0, -1], [1, 0]]):
            left, right = a @ normal, b @ normal
            if left.max() <= right.min() or right.max() <= left.min():
                return False
    return True


@pytest.mark.parametrize("name", REPORTS)
def test_without_scripts_all_is_there_and_no_control_is_dead(browser, reports, name):
    with (
        visit(browser, reports(name)) as usual,
        visit(browser, reports(name), scripts=False) as plain,
    ):
        assert plain.measure("controls") == []
        assert usual.measure("controls")
        assert plain.measure("plain") == usual.measure("plain")
        usual.measure("open")
        open_by_keyboard(plain)
        found = [[p["name"] for p in seen.measure("pictures")] for seen in (usual, plain)]
        assert found[0] == found[1]
        said = [seen.measure("said") for seen in (usual, plain)]
        assert said[0] == said[1] != []


def open_by_keyboard(seen):
    """All that is closed, as somebody does without a mouse."""
    closed = [t["name"] for t in seen.measure("tables") if not t["visible"]]
    for summary in seen.page.locator("summary").all():
        if summary.evaluate("e => !e.parentElement.open"):
            summary.focus()
            seen.page.keyboard.press("Enter")
    assert [t["name"] for t in seen.measure("tables") if not t["visible"]] == []
    assert closed or not seen.page.locator("summary").count()


@pytest.mark.parametrize("name", REPORTS)
def test_prints_what_stands_open_and_whole(browser, reports, name):
    with visit(browser, reports(name), width=PRINTED) as seen:
        printed = seen.page.pdf(format="A4", margin=dict.fromkeys(SIDES, "1cm"))
        assert printed.startswith(b"%PDF-")
        if name == "demo":  # a plain comparison
            assert len(re.findall(rb"/Type /Page\b(?!s)", printed)) == 2
        seen.page.emulate_media(media="print")
        tables = [t for t in seen.measure("tables") if t["visible"]]
        assert [(t["name"], t["cut"]) for t in tables if t["cut"] > 1] == []
        assert all('class="sort"' in control for control in seen.measure("controls"))


def test_names_are_shown_as_they_are(browser, reports):
    with visit(browser, reports("awkward")) as seen:
        seen.measure("open")
        text = " ".join(seen.measure("text").split())
    for name in AWKWARD:
        assert name in text


def test_alignments_stand_in_columns_and_scroll_in_their_own_box(browser, reports):
    """The cell of a mark begins where the word above it begins, whatever the script."""
    with visit(browser, reports("transcripts"), width=WIDTHS["narrow"]) as seen:
        boxes = seen.page.evaluate(COLUMNS)
    assert len(boxes) >= 9
    assert any(box["scrolls"] for box in boxes)
    for box in boxes:
        assert box["right"] <= WIDTHS["narrow"]
        assert box["marks"]
        for mark, starts in box["marks"]:
            assert min(abs(mark - start) for start in starts) < 1


def test_wide_tables_scroll_in_their_own_box(browser, reports):
    """On a narrow screen no column is lost: the box scrolls to its end, and the page stays."""
    with visit(browser, reports("learning"), width=WIDTHS["narrow"]) as seen:
        seen.measure("open")
        boxes = seen.page.evaluate(BOXES)
    wide = [box for box in boxes if box["content"] > box["room"]]
    assert len(wide) >= 3
    for box in boxes:
        assert box["right"] <= WIDTHS["narrow"], box["name"]
        assert box["last"] <= box["right"] + 1, box["name"]
        assert box["page"] == 0


BOXES = """() => [...document.querySelectorAll(".scroll")].map((box) => {
  box.scrollLeft = box.scrollWidth;
  const right = box.getBoundingClientRect().right;
  const cells = [...box.querySelectorAll("tr:first-child > :last-child")];
  return {
    name: box.getAttribute("aria-label"),
    content: box.scrollWidth,
    room: box.clientWidth,
    right,
    last: Math.max(...cells.map((cell) => cell.getBoundingClientRect().right)),
    page: document.scrollingElement.scrollLeft,
  };
})"""


COLUMNS = """() => [...document.querySelectorAll("pre.aligned")].map((pre) => {
  const left = (node, at) => {
    const range = document.createRange();
    range.setStart(node, at);
    range.setEnd(node, at + 1);
    return range.getBoundingClientRect();
  };
  // where each word of each line begins
  const lines = [];
  const walk = document.createTreeWalker(pre, NodeFilter.SHOW_TEXT);
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    const box = node.parentElement.closest("bdi");
    for (const found of node.textContent.matchAll(/\\S+/g)) {
      const place = box ? box.getBoundingClientRect() : left(node, found.index);
      const at = (place.top + place.bottom) / 2;
      let line = lines.find((l) => Math.abs(l.at - at) < 6);
      if (!line) lines.push((line = { at, words: [] }));
      line.words.push({ text: found[0], left: place.left });
    }
  }
  lines.sort((a, b) => a.at - b.at);
  const marks = [];
  lines.forEach((line, k) => {
    if (k < 1 || line.words.some((w) => !/^[SDI]$/.test(w.text))) return;
    const above = lines[k - 1].words.map((w) => w.left);
    for (const word of line.words) marks.push([word.left, above]);
  });
  const frame = pre.getBoundingClientRect();
  return { right: frame.right, scrolls: pre.scrollWidth > pre.clientWidth, marks };
})"""


def test_figures_of_the_result_are_on_the_page(browser, reports):
    rows = json.loads((reports("demo").parent / "result.json").read_text(encoding="utf-8"))["rows"]
    main = [r for r in rows if r["measure"] == "act_dcf" and "subset" not in r["dims"]]
    with visit(browser, reports("demo")) as seen:
        text = seen.measure("text")
    values = [(r["value"], r["lower"], r["upper"]) for r in main if r["kind"] == "value"]
    assert len(values) == 2
    for value in values:
        assert digits.uncertain(*value)[0] in text


# what scripts add


@pytest.fixture
def demonstrated(browser, reports):
    """The page of the demo, open; its result beside it."""
    with visit(browser, reports("demo")) as seen:
        yield seen
        assert seen.faults == []


def test_a_pointer_on_a_mark_reads_what_it_says(demonstrated):
    page = demonstrated.page
    dot = page.locator("#p0-0 svg.full circle.dot").first
    wanted = dot.get_attribute("data-tip")
    assert re.fullmatch(r"logistic: act_dcf: 0\.59 \[0\.44, 0\.77\]", wanted)
    dot.hover()
    assert page.locator("#tip").inner_text() == wanted
    page.keyboard.press("Escape")
    assert not page.locator("#tip").is_visible()
    page.set_viewport_size({"width": 390, "height": 900})
    small = page.locator("#p0-0 svg.small circle.dot").first
    assert small.get_attribute("data-tip") == wanted
    page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
    contents = page.locator("nav").bounding_box()
    assert contents["y"] == 0  # in sight on a phone, in two lines
    assert contents["height"] < 80


def test_a_system_is_switched_off_and_on(demonstrated):
    page = demonstrated.page
    marks = page.locator('svg.full [data-series="network"]')
    seen = sum(m.is_visible() for m in marks.all())
    assert seen > 10
    page.locator('.systems input[value="network"]').uncheck()
    assert not any(m.is_visible() for m in marks.all())
    assert page.locator('svg.full .dot[data-series="logistic"]').first.is_visible()
    assert "network" not in page.locator("#reading").inner_text()
    page.locator('.systems input[value="network"]').check()
    assert sum(m.is_visible() for m in marks.all()) == seen


def test_sliders_say_what_score_says(demonstrated):
    """At 20 thresholds and 5 priors the cost of the slider is that of `score`."""
    import truecost as tc

    page = demonstrated.page
    folder = files("truecost") / "data" / "demo"
    numbers = json.loads(page.locator("#numbers").text_content())["sliders"]
    options = tc.trials.Options("llr", {"id": "trial", "unit": "speaker"})
    systems = [
        tc.trials.load(tc.read(str(folder / f"{name}.csv")), options, name)
        for name in ("logistic", "network")
    ]
    steps = np.linspace(0, len(numbers["thresholds"]) - 1, 20).astype(int)
    for prior in (0.01, 0.05, 0.1, 0.3, 0.5):
        page.locator("#prior").evaluate(SLIDE, prior)
        for step in steps:
            page.locator("#threshold").evaluate(SLIDE, int(step))
            said = page.locator("#reading").inner_text()
            shown = dict(re.findall(r"^(\w+): cost ([\d.]+)", said, re.MULTILINE))
            threshold = numbers["thresholds"][step]
            for trials in systems:
                scoring = tc.Scoring(
                    tc.Application.detection(prior=prior),
                    ("act_dcf",),
                    tc.Plan(2),
                    choices=tc.TrialsScoring(threshold=threshold),
                )
                [row] = tc.score_system(trials, scoring)
                assert shown[trials.name] == f"{row.value:.3f}"
            assert ("Bands hold for the prior" in said) == (prior != 0.05)
    assert page.locator("svg.full .band.faded").count() == 2


def test_the_threshold_follows_the_prior_of_likelihood_ratios(demonstrated):
    page = demonstrated.page
    page.locator("#prior").evaluate(SLIDE, 0.5)
    assert abs(float(page.locator("#threshold-value").inner_text())) < 0.1  # ln 1
    moved = page.locator('figure[data-sliders="threshold"] svg.full .probe').first.get_attribute(
        "d"
    )
    assert moved.startswith("M")
    assert page.locator('figure[data-sliders="det"] svg.full .probe').count() == 2


SLIDE = """(slider, value) => {
  slider.value = value;
  slider.dispatchEvent(new Event("input"));
}"""


def test_a_box_enlarges_a_part_and_the_button_shows_the_whole(demonstrated):
    page = demonstrated.page
    svg = page.locator('figure[data-sliders="det"] svg.full')
    svg.scroll_into_view_if_needed()
    before = svg.locator(".axes").text_content(), svg.get_attribute("data-x")
    box = svg.bounding_box()
    page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 0.3 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 0.6 * box["height"], steps=4)
    page.mouse.up()
    assert svg.get_attribute("data-x") != before[1]
    enlarged = [t for t in demonstrated.measure("words") if t["picture"] == 1]
    assert collisions(enlarged) == []
    low, high = (float(v) for v in svg.get_attribute("data-x").split(",")[1:3])
    x = float(svg.locator("circle[data-x]").first.get_attribute("data-x"))
    at = float(svg.locator("circle[data-x]").first.get_attribute("cx"))
    assert (low <= x <= high) == (40 < at < 560)
    page.locator('figure[data-sliders="det"] [data-do="whole"]').click()
    assert (svg.locator(".axes").text_content(), svg.get_attribute("data-x")) == before


def test_a_table_is_sorted_by_the_head_that_is_pressed(demonstrated):
    page = demonstrated.page
    demonstrated.measure("open")
    table = page.locator("#values table").first
    value = table.locator("thead button", has_text="value")
    column = [h.inner_text() for h in table.locator("thead th").all()].index("value")

    def shown():
        cells = table.locator(f"tbody tr > :nth-child({column + 1})").all_inner_texts()
        return [float(c.rstrip("%")) / (100 if c.endswith("%") else 1) for c in cells]

    value.click()
    assert shown() == sorted(shown())
    value.click()
    assert shown() == sorted(shown(), reverse=True)
    assert table.locator('th[aria-sort="descending"]').count() == 1


@pytest.mark.parametrize("kind", ["svg", "png", "csv", "tex"])
def test_a_picture_and_its_numbers_are_downloaded(demonstrated, kind, tmp_path):
    page = demonstrated.page
    with page.expect_download() as waiting:
        page.locator(f'#p0-0 .tools [data-do="{kind}"]').click()
    path = tmp_path / waiting.value.suggested_filename
    waiting.value.save_as(path)
    data = path.read_bytes()
    assert path.suffix == f".{kind}"
    if kind == "png":
        assert data.startswith(b"\x89PNG")
    elif kind == "svg":
        assert b"<svg" in data
        assert b"rgb(0, 103, 165)" in data  # looks are resolved
    else:
        assert b"logistic" in data
        wanted = rb"0\.587\d+,0\.44\d+,0\.77\d+" if kind == "csv" else rb"0\.59 \[0\.44, 0\.77\]"
        assert re.search(wanted, data)


def test_screenshots_of_all_views(browser, reports, tmp_path):
    # the command has a browser of its own, and playwright runs one at a time in a thread
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as other:
        paths = other.submit(lambda: list(screenshots(reports("one"), tmp_path))).result()
    assert len(paths) == 8
    assert all(p.read_bytes().startswith(b"\x89PNG") for p in paths)


FAULTY = f"""<!DOCTYPE html><html lang="en"><title>Faulty</title><body style="background:white">
<img src="https://example.org/dot.png" alt="dot">
<script>document.title = "x"; alert(1); undefinedFunction()</script>
<p style="color: #ccc; width: 2000px">{html.escape("pale & wide")}</p>
<figure><svg width="100" height="50" viewBox="0 0 100 50">
<rect width="100" height="50" fill="#aaa"/>
<text x="5" y="20" style="font-size: 6px; fill: #888">first</text>
<text x="8" y="22" style="font-size: 12px">second</text>
<text x="90" y="40" style="font-size: 12px" transform="rotate(3)">third one</text>
</svg></figure>
<h2>Another thing</h2>
<div style="overflow: auto; width: 100px"><table style="width: 400px">
<tr><td>one</td><td>2</td></tr></table></div>
"""


def test_faults_are_found(browser, tmp_path):
    page = tmp_path / "faulty.html"
    page.write_text(FAULTY, encoding="utf-8")
    with visit(browser, page) as seen:
        assert "https://example.org/dot.png" in seen.requests
        assert any(fault.startswith("dialog") for fault in seen.faults)
        assert any("undefinedFunction" in fault for fault in seen.faults)
        assert "color-contrast" in {f["id"] for f in seen.axe() if f["impact"] == "serious"}
        widths = seen.measure("widths")
        assert widths["content"] > widths["window"]
        words = {w["text"]: w for w in seen.measure("words")}
        [pale] = [t for t in seen.measure("texts") if t["contrast"] < LEAST_CONTRAST]
        assert pale["text"] == "pale & wide"
        assert words["first"]["size"] == pytest.approx(6)
        assert words["first"]["contrast"] == pytest.approx(1.53, abs=0.01)  # #888 on #aaa
        assert words["second"]["contrast"] == pytest.approx(9.04, abs=0.01)  # black on #aaa
        assert collisions(list(words.values())) == [("first", "second")]
        assert [outside(w) for w in words.values()] == [False, False, True]
        assert seen.measure("figures")[0]["tables"] == []
        assert seen.measure("pictures")[0]["name"] == ""
        [table] = seen.measure("tables")
        assert table["cut"] >= 300
        assert set(table_faults(table)) >= {"no caption", "rows without a header"}
