"""Studies of the task terms: tables, one reference for all, several collections, what it took."""

import json
import shutil

import pytest

import searched
from truecost import InputError, UsageError, cli
from truecost import study as studies
from truecost.resources.loads import Load
from truecost.study import Study
from truecost.study.paths import files_of, name_systems, unique_names
from truecost.tasks.terms.describing import SearchDescription
from truecost.tasks.terms.options import TermsTable
from truecost.tasks.terms.records import Search
from truecost.tasks.terms.tables import alignment_frame, query_frame

DATA = {"ecf": "e.ecf.xml", "rttm": "r.rttm", "kwlist": "t.kwlist.xml"}
SYSTEMS = {n: {"file": f"submissions/{n}.kwslist.xml"} for n in ("fair", "good")}
TABLES = {
    "task": "terms",
    "measures": ["atwv", "p_miss"],
    "data": DATA,
    "systems": SYSTEMS,
    "application": {"preset": "nist-std-2006"},
    "interval": {"replicates": 200},
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The files of a search."""
    return searched.written(tmp_path_factory.mktemp("study"))


@pytest.fixture
def folder(files, monkeypatch):
    """The folder of the files, where we are."""
    monkeypatch.chdir(files)
    return files


def study_of(**changes):
    """A study with some tables replaced."""
    return Study.from_tables({k: v for k, v in (TABLES | changes).items() if v is not None})


def run(**changes):
    """What a study comes to."""
    return studies.run(study_of(**changes))


def test_nothing_submitted_is_certain(folder, tmp_path):
    (tmp_path / "none.kwslist.xml").write_text(searched.kwslist([]))
    outcome = run(systems={"none": {"file": str(tmp_path / "none.kwslist.xml")}})
    assert [(row.lower, row.upper) for row in outcome.estimates] == [(0, 0), (1, 1)]
    assert not any("no_spread" in row.flags for row in outcome.estimates)
    assert not any("without width" in p.message for p in outcome.problems)


def test_the_reference_is_read_once(folder, monkeypatch):
    from truecost.tasks.terms import files as searches

    calls = []
    load = searches.read_reference
    monkeypatch.setattr(
        searches, "read_reference", lambda *a, **k: (calls.append(a), load(*a, **k))[1]
    )
    outcome = run()
    assert len(calls) == 2  # as it is, and once more as the scorer of its preset reads it
    first, second = outcome.systems
    assert isinstance(first, Search)
    assert first.reference is second.reference
    assert [i.file for i in outcome.inputs].count("r.rttm") == 1


def test_a_study_file_names_files_beside_it(folder, tmp_path, capsys):
    lines = [
        'task = "terms"\nmeasures = ["atwv"]\nbaseline = "fair"\n[data]',
        *(f'{key} = "{file}"' for key, file in DATA.items()),
        "[systems]",
        *(f'{name}.file = "{of["file"]}"' for name, of in SYSTEMS.items()),
        '[application]\npreset = "nist-std-2006"\n[interval]\nreplicates = 100\n',
    ]
    (folder / "study.toml").write_text("\n".join(lines))
    assert cli.run(["run", str(folder / "study.toml"), "--json", "-o", str(tmp_path / "o")]) == 0
    found = json.loads(capsys.readouterr().out)
    assert str(folder) not in json.dumps(found)
    assert found["configuration"].count("kwslist.xml") == 2
    assert [r["kind"] for r in found["rows"]] == ["value", "value", "difference", "ratio"]
    assert (tmp_path / "o" / "result.json").read_text() == json.dumps(found, indent=2) + "\n"


def test_equal_studies_give_equal_bytes(folder, tmp_path):
    for name in "ab":
        assert (
            cli.run(
                [
                    *("terms", "score", *searched.REFERENCE.split(), "s.kwslist.xml", "-q"),
                    *(
                        "--preset",
                        "nist-std-2006",
                        "--replicates",
                        "200",
                        "-o",
                        str(tmp_path / name),
                    ),
                    *(["--jobs", "1"] if name == "b" else []),
                ]
            )
            == 0
        )
    for file in ("result.json", "report.html"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_a_stored_result_gives_its_page_again(folder, tmp_path):
    studies.write(run(), str(tmp_path / "r"))
    page = tmp_path / "r/report.html"
    before = page.read_bytes()
    page.unlink()
    assert cli.run(["report", str(tmp_path / "r")]) == 0
    assert page.read_bytes() == before


def test_several_applications(folder):
    outcome = run(
        application=None,
        applications={"nist": {"preset": "nist-std-2006"}, "sws": {"preset": "sws-2013"}},
    )
    values = {
        (e.dims["application"], e.dims["system"]): e.value
        for e in outcome.estimates
        if e.measure == "atwv"
    }
    assert len(set(values.values())) > 2
    table = query_frame(outcome)
    assert table.columns[:2] == ["application", "system"]
    assert table.height == 2 * 2 * 12
    assert alignment_frame(outcome).columns[0] == "system"
    alone = run()
    assert alignment_frame(alone).equals(alignment_frame(outcome))
    mean = query_frame(alone).filter(system="good")["twv"].mean()
    assert mean == pytest.approx(values["nist", "good"])


def test_the_2012_variant_takes_its_prior_from_the_data(folder):
    [row] = run(
        measures=["atwv"], systems={"s": SYSTEMS["good"]}, application={"preset": "sws-2012"}
    ).estimates
    [other] = run(
        measures=["atwv"],
        systems={"s": SYSTEMS["good"]},
        application={"cost_miss": 1, "cost_fa": 1, "prior": 156 / 480},
    ).estimates
    assert row.value == pytest.approx(other.value)


def test_several_collections(folder, tmp_path):
    near, far = tmp_path / "near", tmp_path / "far"
    for place in (near, far):
        shutil.copytree(folder, place)
    kept = (far / "e.ecf.xml").read_text().splitlines()
    (far / "e.ecf.xml").write_text("\n".join([*kept[:3], kept[-1]]))
    outcome = run(
        data={},
        collections={
            place.name: {key: str(place / file) for key, file in DATA.items()}
            for place in (near, far)
        },
        systems={
            name: {"files": {p.name: str(p / of["file"]) for p in (near, far)}}
            for name, of in SYSTEMS.items()
        },
        baseline="fair",
    )
    seconds = {s.collection: s.seconds for s in outcome.result.described_as(SearchDescription)}
    assert seconds == {"near": 480.0, "far": 240.0}
    assert alignment_frame(outcome).columns[:2] == ["collection", "system"]
    assert len(outcome.comparisons) == 4
    assert any("of audio that is not scored" in p.message for p in outcome.problems)


def test_gates_on_values_and_on_differences(folder):
    outcome = run(
        measures=["atwv", "cnxe", "p_miss"],
        baseline="fair",
        gate=[
            {"measure": "cnxe", "system": "good", "max_upper": 0.99},
            {"measure": "p_miss", "system": "good", "max_upper": 0.01},
            {"measure": "p_miss", "system": "good", "baseline": "fair", "max_upper_delta": 0.0},
        ],
    )
    assert [gate.verdict for gate in outcome.gates] == ["pass", "fail", "pass"]


def test_subsets_are_named(folder):
    outcome = run(subsets={"short": "words = 1", "kind": "source"})
    subsets = {e.dims.get("subset") for e in outcome.estimates}
    assert subsets == {None, "short", "kind=bn", "kind=cts"}


def test_queries_without_an_attribute_are_counted(folder, tmp_path):
    text = (folder / "t.kwlist.xml").read_text()
    head, mark, tail = text.partition("<kwinfo>")
    (tmp_path / "t.kwlist.xml").write_text(head + tail.partition("</kwinfo>")[2])
    data = DATA | {"kwlist": str(tmp_path / "t.kwlist.xml")}
    outcome = run(data=data, subsets={"words": "words"})
    said = [p.message for p in outcome.problems if p.kind == "data"]
    assert mark
    assert "1 query has no words: not in any subset by words" in said


def test_the_same_list_twice_is_said(folder):
    outcome = run(systems={"a": SYSTEMS["good"], "b": SYSTEMS["good"]}, baseline="a")
    assert any(
        "have the same detections: is it one file twice?" in p.message for p in outcome.problems
    )


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    """Records of what two phases took."""
    place = tmp_path_factory.mktemp("records")
    for phase in ("indexing", "searching"):
        command = ["resources", "-o", str(place / f"{phase}.json"), "--phase", phase, "--", "true"]
        assert cli.run(command) == 0
    return {phase: [str(place / f"{phase}.json")] for phase in ("indexing", "searching")}


def test_the_length_of_queries_goes_with_a_record_of_searching(folder, records):
    terms = {"query_seconds": 36.0}
    with pytest.raises(UsageError, match="query_seconds is for searching"):
        run(terms=terms)
    searched = SYSTEMS["fair"] | {"searching": records["searching"]}
    run(terms=terms, systems=SYSTEMS | {"fair": searched})


def test_a_gate_on_what_was_measured_once_is_decided(folder, records):
    systems = {"good": SYSTEMS["good"] | records}
    gates = [
        {"measure": "pmu_indexing", "max_upper": 1e-9},
        {"measure": "pl", "max_upper": 1e9, "subset": "all"},
    ]
    outcome = run(systems=systems, terms={"query_seconds": 36.0}, gate=gates)
    assert [gate.verdict for gate in outcome.gates] == ["fail", "pass"]
    assert all("(no interval: measured once)" in gate.message for gate in outcome.gates)


def test_what_a_search_took(folder, records, tmp_path):
    systems = {"fair": SYSTEMS["fair"], "good": SYSTEMS["good"] | records}
    outcome = run(systems=systems, terms={"query_seconds": 36.0}, baseline="fair")
    rows = {e.measure: e for e in outcome.estimates if e.dims["system"] == "good"}
    for name in ("isf", "ssf", "pmu_indexing", "pmu_searching", "pl"):
        assert rows[name].value is not None
        assert (rows[name].lower, rows[name].reason) == (None, "no interval: measured once")
    [load] = [load for load in outcome.result.described_as(Load) if load.system == "good"]
    assert load.audio_s == 480
    assert load.query_s == 36
    assert rows["isf"].value == pytest.approx(load.indexing.cpu_s / 480)
    assert {i.file for i in outcome.inputs if i.system == "good"} == {
        *("good.kwslist.xml", "indexing.json", "searching.json")
    }
    target = studies.write(outcome, str(tmp_path / "o"))
    assert str(tmp_path) not in (target / "result.json").read_text()
    alone = run(systems={"good": SYSTEMS["good"] | {"indexing": records["indexing"]}})
    reasons = {e.measure: e.reason for e in alone.estimates if e.value is None}
    assert reasons == dict.fromkeys(
        ("ssf", "pmu_searching", "pl"), "undefined: there is no record of searching"
    )


def test_records_of_the_wrong_phase_are_refused(folder, records):
    wrong = {"indexing": records["searching"]}
    with pytest.raises(InputError, match="is a record of searching, expected one of indexing"):
        run(systems={"good": SYSTEMS["good"] | wrong})


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"task": "trials"}, r"ecf.* under \[data\] is not for trials|is for task terms"),
        ({"task": "abba"}, "is not for abba"),
        ({"worst": 3}, "worst is for transcripts"),
        ({"diarization": {"collar": 0.1}}, r"\[diarization\] is for task diarization"),
        ({"methods": {"files": ["a.csv"]}}, r"\[methods\] is for task trials"),
        ({"data": DATA | {"key": "k"}}, r"key under \[data\] is not for terms"),
        ({"data": DATA | {"type": "posterior"}}, "type posterior does not fit task terms"),
        ({"data": DATA | {"occurrences": "o.csv"}}, "an RTTM and occurrences are named"),
        ({"data": {"ecf": "e.ecf.xml", "kwlist": "t.kwlist.xml"}}, "no RTTM is named"),
        (
            {"data": {"rttm": "r.rttm", "kwlist": "t.kwlist.xml"}},
            "the ECF, a list of the searched audio, is not named",
        ),
        ({"data": {"ecf": "e.ecf.xml", "rttm": "r.rttm"}}, "the list of queries is not named"),
        ({"systems": {"a": {"file": "s", "ecf": "f"}}}, "the reference is the same for all"),
        ({"application": {"priors": [0.5, 0.5]}}, "two kinds of errors, misses and false alarms"),
        ({"application": {"cost_matrix": [[0, 1], [1, 0]]}}, "two kinds of errors"),
        ({"application": None}, "the costs of misses and false alarms are not given"),
        ({"terms": {"compat": ["f5de"]}}, "compat 'f5de' is not known"),
        ({"terms": {"tolerance": -0.5}}, "give a number at least 0"),
        (
            {"terms": {"query_seconds": -1.0}},
            r"\[terms\] query_seconds is -1: give a number above 0",
        ),
        ({"terms": {"floor": float("inf")}}, "finite score"),
        ({"terms": {"trials": "segment"}}, "did you mean 'trial'"),
        ({"terms": {"trial": "word"}}, "trial"),
        ({"measures": ["eer"]}, "not for terms"),
        ({"interval": {"resample": "blocks"}}, "moving blocks"),
        ({"systems": {"a": {"file": "-"}}, "data": DATA | {"rttm": "-"}}, "read once only"),
    ],
)
def test_studies_that_make_no_sense(folder, changes, said):
    with pytest.raises(UsageError, match=said):
        run(**changes)


def test_records_go_with_terms_only():
    study = Study.from_tables({"systems": {"a": {"file": "a.csv", "indexing": ["i.json"]}}})
    with pytest.raises(UsageError, match="which are for terms; the task of the study is trials"):
        study.check()


def test_terms_tables_go_with_terms_only():
    study = Study.from_tables({"systems": {"a": {"file": "a.csv"}}, "terms": {"pooled": True}})
    with pytest.raises(UsageError, match=r"\[terms\] is for task terms"):
        study.check()


def test_records_of_several_collections_are_refused(folder):
    systems = {"a": {"files": {"x": "s"}, "indexing": ["i.json"]}}
    with pytest.raises(UsageError, match="records of one run, but the study has several"):
        run(systems=systems, collections={"x": {}})


def test_the_command_line_lies_over_a_study():
    base = study_of(terms={"trial": "document", "floor": -1.0})
    found = Study.from_tables({"terms": {"floor": -2.0}}).over(base)
    assert found.table(TermsTable).given() == {"trial": "document", "floor": -2.0}
    assert found.task == "terms"


def test_names_of_lists_and_folders(folder, tmp_path):
    assert unique_names(["a/x.kwslist.xml.gz", "b/y.stdlist.xml", "c/z.xml"]) == ["x", "y", "z"]
    named = name_systems([str(folder / "submissions"), "mine=s.kwslist.xml"], folders=True)
    assert [name for name, _ in named] == ["fair", "good", "poor", "mine"]
    assert files_of("s.kwslist.xml") == ["s.kwslist.xml"]
    with pytest.raises(InputError, match="there are no files in this folder"):
        files_of(str(tmp_path))
    with pytest.raises(UsageError) as refused:
        name_systems(["submissions", "fair=s.kwslist.xml"], folders=True)
    assert str(refused.value) == (
        "two systems have the same name: fair (submissions/fair.kwslist.xml, s.kwslist.xml): leave "
        "one out, or give another name with NAME=PATH"
    )
