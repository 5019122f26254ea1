"""What every test may use: reference cases, sweeps beside full scans, a hypothesis profile."""

import gc
import itertools
import os
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from assembled import assemble_once
from compiled import compile_once
from here import here
from truecost import study
from truecost.core.factors import Factor
from truecost.core.ranking import Ranking
from truecost.core.sweep import Sweep
from truecost.core.weights import Plan
from truecost.learning import parallel
from truecost.study.paths import name_systems
from truecost.tasks import measures

for lane, examples in (("short", 15), ("long", 100)):
    settings.register_profile(lane, deadline=None, derandomize=True, max_examples=examples)


LONGEST = (  # in this order, so that two workers share them
    *("test_docs.py", "test_browser.py", "test_person_live.py", "test_person_annotate.py"),
    *("test_stream_run.py", "test_person_help.py", "test_large.py", "test_laws.py"),
    *("test_fuzz_formats.py", "test_stream_commands.py", "test_spurious_command.py"),
    *("test_example_terms.py", "test_person_page.py", "test_lifelong_live.py", "test_golden.py"),
    *(
        "test_abba_commands.py",
        "test_resources.py",
        "test_calibration.py",
        "test_lifelong_digits.py",
    ),
    *("test_learning_program.py", "test_add_a_task.py", "test_person_page_faults.py"),
    *("test_methods_run.py", "test_person_unlabelled.py", "test_examples.py", "test_pictures.py"),
)


def pytest_configure(config):
    """Laws are tried on more examples beside the long studies."""
    short = "not long" in config.getoption("markexpr")
    settings.load_profile("short" if short else "long")


def pytest_sessionstart(session):
    """Where nothing is said, one worker and one thread: tests run beside each other anyway.

    Every worker of a live run imports all that it needs, which takes longer than what it does here.
    Tests of several workers say how many; processes that tests start take what there is.
    """
    os.cpu_count = lambda: 1
    os.sched_getaffinity = lambda _: {0}
    compile_once()
    assemble_once()


def pytest_collection_modifyitems(items):
    """The files that take longest come first, so that no worker is left with one of them."""
    places = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path.name, len(places)))


def pytest_collection_finish(session):
    """No test is thrown away before the end: not looking through them saves 9% of the time, and
    looking through the rest less often saves 4%.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)


SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder `shared` beside the repository: specification, reference cases, data."""
    if not (SHARED / "cases" / "MANIFEST.md").is_file():
        pytest.skip(f"{SHARED} is missing: the reference cases lie beside the repository")
    return SHARED


@pytest.fixture(scope="session")
def ran():
    """Run a study of some files, each `PATH` or `NAME=PATH`; the first is the baseline if asked."""

    def run(*paths, compare=False, data=None, **tables):
        named = dict(name_systems([str(p) for p in paths]))
        tables["systems"] = {name: {"file": path} for name, path in named.items()}
        if compare:
            tables["baseline"] = next(iter(named))
        return study.run(study.Study.from_tables({"data": data or {"type": "llr"}, **tables}))

    return run


class Scan:
    """Trials under the weights of one replicate: every threshold looked at, nothing clever."""

    def __init__(self, scores, codes, weights):
        self.scores, self.targets, self.weights = scores, codes == 1, weights
        self.thresholds = np.append(np.unique(scores), np.inf)
        self.T, self.N = weights[self.targets].sum(), weights[~self.targets].sum()
        accept = scores[None, :] >= self.thresholds[:, None]
        self.miss = (weights * self.targets * ~accept).sum(axis=1)
        self.fa = (weights * ~self.targets * accept).sum(axis=1)
        self.pmiss, self.pfa = self.miss / self.T, self.fa / self.N


RANKINGS = {  # number of distinct scores (about), trial weights, sides
    "continuous": (10_000, False, 1),
    "ties": (12, False, 1),
    "heavy ties": (3, False, 1),
    "one score": (1, False, 1),
    "trial weights": (40, True, 1),
    "two sides": (40, False, 2),
    "all": (25, True, 2),
}


@pytest.fixture(
    params=itertools.product(RANKINGS, [1, 2, 7, 1024]), ids=lambda p: f"{p[0]}, {p[1]} buckets"
)
def swept(request, monkeypatch) -> tuple[Sweep, list[Scan]]:
    """A sweep of 12 replicates and the full scan of each; weights are whole or quarters."""
    (distinct, weighted, sides), buckets = RANKINGS[request.param[0]], request.param[1]
    monkeypatch.setattr("truecost.core.ranking.BUCKETS", buckets)
    monkeypatch.setattr("truecost.kernels.FEW", 1 << 16 if buckets % 2 else 0)  # both roads
    monkeypatch.setattr("truecost.core.ranking.LOOK", 1e9 if buckets % 2 else 0)
    rng = np.random.default_rng(len(request.param[0]))
    trials, units = 160, 15
    codes = (rng.random(trials) < 0.4).astype(np.uint8)
    scores = np.floor(rng.normal(codes, 1) * distinct / 6) / 7 if distinct > 1 else np.ones(trials)
    extra = rng.integers(0, 9, trials) / 4 if weighted else None
    factor = Factor("unit", np.arange(units))
    places = rng.integers(0, units, (sides, trials)).astype(np.int32)
    block = Plan(replicates=12).weights({"unit": factor}).block()
    ranking = Ranking.from_scores(scores, codes, [(factor, p) for p in places], extra)
    rows = block["unit"].astype(float)
    weights = rows[:, places[0]] * (np.ones(trials) if extra is None else extra)
    if sides == 2:
        weights *= np.where(places[0] == places[1], 1, rows[:, places[1]])
    return Sweep(ranking, block), [Scan(scores, codes, w) for w in weights]


@pytest.fixture(scope="session")
def run_in_workers():
    """The real ways to run jobs, before any test took another one."""
    return parallel.run_parallel


@pytest.fixture(scope="module", autouse=True)
def _jobs_are_done_here(run_in_workers):
    """Jobs of which one is done at a time need no process of their own; see `here`."""
    with pytest.MonkeyPatch.context() as patched, here(patched):
        yield


LOOKED_AT = re.compile("html|svg|drawn|processes|subprocess")


@pytest.fixture(scope="module", autouse=True)
def _pictures_are_drawn_where_they_are_looked_at(request):
    """Pages of files of tests that read none have no pictures, which are half of a page's time.

    What starts processes has them, since theirs have; beside the long studies all have.
    """
    source = Path(request.module.__file__).read_text(encoding="utf-8")
    short = "not long" in request.config.getoption("markexpr")
    with pytest.MonkeyPatch.context() as patched:
        if short and not LOOKED_AT.search(source):
            patched.setattr("truecost.report.page._both", lambda *_, **__: "")
        yield


@pytest.fixture
def workers(run_in_workers, monkeypatch):
    """Every job has a process of its own, as users have it."""
    monkeypatch.setattr(parallel, "run_parallel", run_in_workers)


@pytest.fixture
def registered(monkeypatch):
    """Puts a measure behind those of the modules of a task."""
    found, known = measures._in_turn, {}

    def register(measure, task="trials"):
        known[task, measure.name] = measure
        measures.forget()
        return measure

    def in_turn(task):
        yield from found(task)
        yield from (measure for (of, _), measure in known.items() if of == task)

    monkeypatch.setattr(measures, "_in_turn", in_turn)
    yield register
    monkeypatch.undo()
    measures.forget()


@pytest.fixture
def running():
    """Starts commands that print links; what is left of them ends with the test."""
    from robots import Running

    started = []

    def start(*words, **more):
        started.append(Running(*words, **more))
        return started[-1]

    yield start
    for one in started:
        one.kill()


@pytest.fixture(scope="module")
def browser():
    """Headless Chromium; without it tests are skipped, or fail when TRUECOST_BROWSER=required."""
    from browser import require, started

    require()
    with started() as running:
        yield running


@pytest.fixture
def tab(tmp_path, monkeypatch):
    """A tab of a browser of its own, which is visible and has the focus."""
    from browser import alone, require

    require()
    monkeypatch.chdir(tmp_path)
    with alone(tmp_path / "profile") as (page, _):
        yield page
