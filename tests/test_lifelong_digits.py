"""Class-incremental digits: the source, and the first real run, in which users rank differently."""

import json
from collections import Counter
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from msgspec import structs

from described import of_type
from truecost import cli
from truecost.errors import UsageError
from truecost.learning.corpora import handwritten
from truecost.learning.lifelong.course import check_course, course_of, files_of, kinds
from truecost.learning.lifelong.sources.shipped import turned
from truecost.learning.live.studies import run_live
from truecost.study import Study
from truecost.tasks.lifelong.descriptions import LifelongDescription
from truecost.tasks.lifelong.options import LifelongTable

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "lifelong" / "digits.toml"
DEMO = files("truecost") / "data" / "demo" / "lifelong" / "study.toml"


# The source


def test_two_digits_at_a_time_and_no_image_twice():
    course = course_of("digits", {}, 0)
    check_course(course)  # unique ids, references, l_1 < t_1 < l_T < t_N
    assert course.learnt.tolist() == [float(day) for day in range(1, 16)]
    assert course.tested.tolist() == [day + 0.5 for day in range(1, 16)]
    for batches in (course.lifelong, course.test):
        for day, batch in enumerate(batches):
            first = 2 * (day // 3)
            labels = Counter(course.references[name] for name in batch.ids)
            assert labels == {str(first): 20, str(first + 1): 20}
    images = [
        name.partition(".")[0] for batch in (*course.lifelong, *course.test) for name in batch.ids
    ]
    images += [name.partition(".")[0] for name in course.bootstrap.ids]
    assert len(set(images)) == len(images) == 15 * 80 + 20


def test_items_are_the_images_with_their_labels():
    items, course = handwritten(), course_of("digits", {}, 3)
    for batch in (course.bootstrap, *course.lifelong, *course.test):
        rows = [int(name.partition(".")[0]) for name in batch.ids]
        assert np.array_equal(batch.features, items.features[rows])
        assert [course.references[name] for name in batch.ids] == [items.labels[r] for r in rows]


def test_seeds_share_the_test_set_and_learn_from_other_images():
    one, same, other = (course_of("digits", {}, seed) for seed in (1, 1, 2))
    assert one.digest == same.digest != other.digest
    for a, b in zip(one.test, other.test, strict=True):
        assert a.ids == b.ids
        assert np.array_equal(a.features, b.features)
    learnt = [{n.partition(".")[0] for b in c.lifelong for n in b.ids} for c in (one, other)]
    assert learnt[0] != learnt[1]
    assert not {n for b in one.lifelong for n in b.ids} & {n for b in other.lifelong for n in b.ids}


def test_rotation_turns_day_by_day():
    course = course_of("digits", {"change": "rotation", "days": 5, "degrees": 90.0}, 0)
    check_course(course)
    items = handwritten().features
    for day, batch in enumerate(course.lifelong, 1):
        rows = [int(name.partition(".")[0]) for name in batch.ids]
        right_angles = np.rot90(items[rows].reshape(-1, 8, 8), day, (1, 2)).reshape(len(rows), -1)
        assert batch.features == pytest.approx(right_angles, abs=1e-9)  # exact in quarter turns
        assert {course.references[name] for name in batch.ids} == set("0123456789")


def test_turning_keeps_the_middle_and_empty_paper():
    image = np.zeros((1, 64))
    assert np.array_equal(turned(image, 33.0), image)
    assert np.array_equal(turned(np.ones((1, 64)), 0.0), np.ones((1, 64)))
    half = turned(np.ones((1, 64)), 45.0).reshape(8, 8)
    assert half[3:5, 3:5] == pytest.approx(1.0)
    assert half[0, 0] == 0.0  # the corners came in from outside


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"items": 400}, "has 1"),
        ({"degrees": 3.0}, "degrees are for change = 'rotation'"),
        ({"change": "rotation", "phases": 3}, "phases are for change = 'classes'"),
        ({"phases": 6}, "in phases"),
        ({"item": 3}, "option 'item' is not known (did you mean 'items'?)"),
        ({"change": "colour"}, "Invalid enum value 'colour'"),
    ],
)
def test_settings_that_make_no_sense(options, said):
    with pytest.raises(UsageError) as error:
        course_of("digits", options, 0)
    assert said in str(error.value)


def test_every_source_says_what_it_is():
    assert {"digits", "table"} <= {*kinds()}
    for name, kind in kinds().items():
        assert kind.text, name
        assert {*kind.files} <= {*kind.settings.__struct_fields__}
    assert files_of("digits", {}) == {}
    assert files_of("table", {"file": "a.csv"}) == {"file": ("a.csv",)}


# The real run: what it tells of the learners; a run alone takes half a minute


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """The rows and comparisons of the demo, with half of its seeds, too few to resample them."""
    study = Study.read(str(DEMO))
    study = structs.replace(
        study,
        loop=structs.replace(study.loop, seeds=2),
        interval=structs.replace(study.interval, replicates=200),
    )
    study = study.with_table(structs.replace(study.table(LifelongTable), factors="item"))
    return run_live(study, tmp_path_factory.mktemp("digits") / "run")


def _row(outcome, system, measure, policy):
    [found] = [
        e
        for e in outcome.estimates
        if e.dims["system"] == system and e.measure == measure and e.dims.get("policy") == policy
    ]
    return found


def _against(outcome, measure, policy):
    """rehearsing against plastic."""
    [found] = [
        c.difference
        for part in outcome.parts
        for c in part.comparisons
        if c.system.dims["system"] == "rehearsing"
        and c.system.measure == measure
        and c.system.dims.get("policy") == policy
    ]
    return found


@pytest.mark.long
def test_who_cares_about_today_takes_another_system_than_who_cares_about_always(rows):
    assert _against(rows, "policy_score", "today").lower > 0  # `plastic` has the lower cost
    assert _against(rows, "policy_score", "always").upper < 0  # `rehearsing` has
    assert _against(rows, "policy_score", "origins").upper < 0


@pytest.mark.long
def test_the_persons_help_is_counted_and_the_ranks_stay(rows):
    assert (
        _against(rows, "penalised_score", "today").value > 0
    )  # its interval excludes 0 with the four seeds
    assert _against(rows, "penalised_score", "always").upper < 0
    assert _against(rows, "penalised_score", "origins").upper < 0


@pytest.mark.long
def test_the_plastic_learner_forgets_and_the_rehearsing_one_does_not(rows):
    plastic, rehearsing = (
        _row(rows, name, "forgetting_max", None) for name in ("plastic", "rehearsing")
    )
    assert plastic.lower > 0.2
    assert rehearsing.upper < 0.05
    assert _row(rows, "plastic-frozen", "forgetting_max", None).value == 0


@pytest.mark.long
def test_learning_with_a_person_beats_the_frozen_version_and_doing_without(rows):
    for name in ("plastic", "rehearsing"):
        helped = _row(rows, name, "policy_score", "always")
        for without in ("frozen", "unsupervised"):
            assert helped.upper < _row(rows, f"{name}-{without}", "policy_score", "always").lower


@pytest.mark.long
def test_each_correction_costs_what_it_costs(rows):
    """S_imp - S_cor of 0/1 costs is the share of corrected items: 6 of 40 at every time."""
    for name in ("plastic", "rehearsing"):
        for policy in ("today", "always", "origins"):
            assert _row(rows, name, "penalty", policy).value == pytest.approx(6 / 40)
        assert _row(rows, name, "n_corrections", None).value == 15 * 6
        assert _row(rows, name, "help_seconds", None).value == 15 * 6 * 4.0


@pytest.mark.long
def test_newest_data_by_hand(rows):
    """The first cell of the policy `today` from the description: weights 1, 1/2, 1/4 ... of t."""
    [life] = [
        d
        for part in rows.parts
        for d in part.described_as(LifelongDescription)
        if d.dims["system"] == "plastic"
    ]
    cells = {
        c.time: c.value for c in life.cells if c.version == "15" and c.state == "base" and c.seen
    }
    weights = {time: 2.0 ** -(15 - float(time)) for time in cells}
    assert len(cells) == 14  # up to 14.5; the data of 15.5 are still to come
    want = sum(weights[t] * cells[t] for t in cells) / sum(weights.values())
    assert _row(rows, "plastic", "policy_score", "today").value == pytest.approx(want)


# Example and demo


def test_the_example_is_the_demo():
    example, demo = (Study.read(str(path)) for path in (EXAMPLE, DEMO))
    spelt = {"change": "classes", "phases": 5}
    options = {**demo.source.options, **spelt}
    assert example.source == structs.replace(demo.source, options=options)
    for table in ("systems", "help", "expert", "strategy", "baseline", "own"):
        assert getattr(example, table) == getattr(demo, table)


def test_the_demo_runs_without_any_file(tmp_path, monkeypatch, capfd):
    whole = Study.read

    def shrunk(path):
        study = whole(path)
        options = {**study.source.options, "days": 2, "items": 8, "test_items": 8, "initial": 4}
        return structs.replace(
            study,
            source=structs.replace(study.source, options=options),
            loop=structs.replace(study.loop, seeds=2),
            help=structs.replace(study.help, questions=2),
            interval=structs.replace(study.interval, replicates=20),
        )

    monkeypatch.setattr(Study, "read", shrunk)
    assert cli.run(["demo", "lifelong", "-o", str(tmp_path / "out")]) == 0
    _, err = capfd.readouterr()
    assert "one forgets, one rehearses" in err
    made = {p.name for p in (tmp_path / "out").iterdir()}
    assert {"result.json", "report.html", "curves.parquet", "logs"} <= made
    result = json.loads((tmp_path / "out" / "result.json").read_bytes())
    assert len(of_type(result, "system")) == 6
    again = (tmp_path / "out" / "result.json").read_bytes()
    assert cli.run(["demo", "lifelong", "-o", str(tmp_path / "out"), "-q"]) == 0
    assert (tmp_path / "out" / "result.json").read_bytes() == again


def test_the_demo_says_its_study(capfd):
    assert cli.run(["demo", "lifelong", "--print-config"]) == 0
    import tomllib

    study = Study.from_tables(tomllib.loads(capfd.readouterr()[0]))
    assert (study.task, study.source.name, study.loop.folder) == ("lifelong", "digits", None)
    assert {*study.systems} == {"plastic", "rehearsing"}
