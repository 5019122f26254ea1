"""`truecost terms` from the command line: what must work as written, and what is refused."""

import gzip
import json
import math
import shlex
from pathlib import Path

import polars as pl
import pytest

import searched
from described import of_type
from truecost import cli
from truecost.options import declared
from truecost.tasks import find
from truecost.tasks.terms.options import Tables
from truecost.verbs import options_of

REFERENCE, FAST = searched.REFERENCE, searched.FAST
NIST = "--preset nist-std-2006"
OCCURRING = len({query for query, *_ in searched.occurrences(searched.said())})  # others are none
ROWS = (
    *("atwv", "mtwv", "otwv", "stwv", "p_miss", "p_fa", "n_targets", "n_correct"),
    *("n_false_alarms", "n_missed", "cnxe", "min_cnxe"),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A reference and what three systems found."""
    return searched.written(tmp_path_factory.mktemp("terms"))


@pytest.fixture
def run(folder, monkeypatch, capsys):
    """Run a command in the folder of the files."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "120")

    def call(line):
        code = cli.run(shlex.split(line))
        out, err = capsys.readouterr()
        return code, out, err

    return call


@pytest.fixture
def result(run):
    """What `--json` prints, where all goes well."""

    def call(line):
        code, out, err = run(f"{line} --json")
        assert code == 0, err
        return json.loads(out)

    return call


def values(found):
    """Values of the whole by measure, of one system."""
    return {r["measure"]: r["value"] for r in found["rows"] if "subset" not in r["dims"]}


def test_score_as_written(result):
    found = result(
        "terms score --ecf e.ecf.xml --rttm r.rttm --kwlist t.kwlist.xml s.kwslist.xml "
        "--preset nist-std-2006"
    )
    assert found["task"] == "terms"
    assert {*ROWS} <= {row["measure"] for row in found["rows"]}
    by_name = {row["measure"]: row for row in found["rows"]}
    assert by_name["mtwv"]["threshold"] is not None
    assert by_name["atwv"]["factors"] == ["query"]
    assert by_name["n_targets"]["value"] == len(searched.occurrences(searched.said()))
    [about] = of_type(found, "search")
    assert (about["system"], about["queries"], about["documents"]) == ("s", 12, 4)
    assert {f["file"] for f in found["inputs"]} == {
        *("e.ecf.xml", "r.rttm", "t.kwlist.xml", "s.kwslist.xml")
    }


def test_score_with_tables_as_written(result, folder):
    found = result(
        f"terms score {REFERENCE} s.kwslist.xml {NIST} {FAST} --alignment out.csv "
        f"--per-query queries.csv --compat f4de"
    )
    alignment, queries = (pl.read_csv(folder / name) for name in ("out.csv", "queries.csv"))
    assert alignment.columns == [
        *("language", "file", "channel", "termid", "term", "ref_bt", "ref_et"),
        *("sys_bt", "sys_et", "sys_score", "sys_decision", "alignment"),
    ]
    counted = dict(alignment["alignment"].value_counts().iter_rows())
    counts = values(found)
    assert counted["CORR"] == counts["n_correct"] == queries["correct"].sum()
    assert counted["MISS"] == counts["n_missed"] == queries["missed"].sum()
    assert queries.height == 12
    assert queries.drop_nulls("twv")["twv"].mean() == pytest.approx(counts["atwv"], rel=1e-12)
    assert queries["words"].to_list() == [len(t.split()) for t in searched.TERMS.values()]
    assert all("compat:channels-once" in row["signature"] for row in found["rows"])


def test_tables_of_several_systems_say_which(run, folder):
    code, _, err = run(
        f"terms score {REFERENCE} submissions --measure atwv {NIST} {FAST} "
        f"--alignment all.parquet --per-query all.ndjson.gz"
    )
    assert code == 0, err
    assert pl.read_parquet(folder / "all.parquet")["system"].unique().sort().to_list() == [
        *("fair", "good", "poor")
    ]
    told = gzip.decompress((folder / "all.ndjson.gz").read_bytes())
    assert pl.read_ndjson(told)["system"].value_counts()["count"].to_list() == [12] * 3


def test_the_real_case_has_the_figures_of_the_reference_tool(shared, result):
    case = shared / "cases/terms/sub2_real"
    found = result(
        f"terms score --ecf {case}/sub2.ecf.xml --rttm {case}/sub2.rttm.gz "
        f"--kwlist {case}/sub2.kwlist.xml {case}/sub2.kwslist.xml {NIST} {FAST} --compat f4de "
        f"--measure atwv,mtwv,otwv,stwv,map,n_targets,n_correct,n_false_alarms,n_missed"
    )
    counts = values(found)
    assert [counts[f"n_{n}"] for n in ("targets", "correct", "false_alarms", "missed")] == [
        *(263, 187, 98, 76)
    ]
    for name, value in {"atwv": 0.3375, "mtwv": 0.3612, "otwv": 0.4686, "stwv": 0.6634}.items():
        assert counts[name] == pytest.approx(value, abs=5e-5), name
    threshold = next(r["threshold"] for r in found["rows"] if r["measure"] == "mtwv")
    assert threshold == pytest.approx(0.529, abs=5e-4)


@pytest.mark.parametrize(
    ("options", "figures"),
    [
        ("--trial segment", {"atwv": 0.2757, "mtwv": 0.5363, "otwv": 0.7523, "stwv": 0.8937}),
        ("--pooled", {"atwv": -8.6356, "mtwv": -1.2899, "otwv": -1.2899, "stwv": 0.7110}),
    ],
)
def test_other_ways_to_count_have_the_figures_of_the_reference_tool(
    shared, result, options, figures
):
    case = shared / "cases/terms/sub2_real"
    found = result(
        f"terms score --ecf {case}/sub2.ecf.xml --rttm {case}/sub2.rttm.gz "
        f"--kwlist {case}/sub2.kwlist.xml {case}/sub2.kwslist.xml {NIST} {FAST} --compat f4de "
        f"--measure atwv,mtwv,otwv,stwv {options}"
    )
    assert values(found) == {name: pytest.approx(v, abs=5e-5) for name, v in figures.items()}


def test_occurrences_take_the_place_of_an_rttm(result):
    asked = f"s.kwslist.xml {NIST} {FAST} --measure atwv,n_targets,n_correct"
    one = result(f"terms score {REFERENCE} {asked}")
    other = result(f"terms score --ecf e.ecf.xml --occurrences o.csv --kwlist t.kwlist.xml {asked}")
    assert values(one) == values(other)
    bare = result(f"terms score --ecf e.ecf.xml --occurrences o.csv few.kwslist.xml {asked[14:]}")
    assert values(bare)["n_targets"] == values(one)["n_targets"]


@pytest.fixture(autouse=True)
def _few(folder):
    """A list for queries that occur: without a list of queries no other is known."""
    queries = tuple({query for query, *_ in searched.occurrences(searched.said())})
    rows = [row for row in searched.detections(3, share=0.7) if row[0] in queries]
    (folder / "few.kwslist.xml").write_text(searched.kwslist(rows, sorted(queries)))


def test_columns_of_tables_are_mapped(run, result, folder):
    rows = ("{},{},{:.3f},{:.3f},{:.5f},{}".format(*row) for row in searched.detections(3))
    head = "kw,file,from,for,llr,said"
    (folder / "s.csv").write_text("\n".join([head, *rows, ""]).replace("-0.", "0."))
    mapped = "query=kw,document=file,start=from,duration=for,score=llr,decision=said"
    listed = (folder / "o.csv").read_text().replace("query,document", "kw,document", 1)
    (folder / "o2.csv").write_text(listed)
    found = result(
        f"terms score --ecf e.ecf.xml --occurrences o2.csv --reference-map query=kw "
        f"--kwlist t.kwlist.xml s.csv --map {mapped} {NIST} {FAST} --measure n_targets"
    )
    assert values(found)["n_targets"] == len(searched.occurrences(searched.said()))
    code, _, err = run(f"terms score {REFERENCE} s.csv --map word=kw {NIST}")
    assert code == 2
    assert "--map word=... is not known: map one of query, document" in err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--factors document", (["document"], 4)),
        ("--factors query,document", (["document", "query"], 4)),
        ("--factors query", (["query"], OCCURRING)),
    ],
)
def test_what_is_resampled(result, options, said):
    found = result(f"terms score {REFERENCE} s.kwslist.xml {NIST} {FAST} --measure atwv {options}")
    [row] = found["rows"]
    assert (sorted(row["factors"]), row["n_units"]) == said


def test_subsets_of_queries_and_of_sources(result):
    found = result(
        f"terms score {REFERENCE} s.kwslist.xml {NIST} {FAST} --measure n_targets --subset source "
        f"--subset words --subset \"source = 'cts'\""
    )
    rows = {r["dims"].get("subset", "all"): r["value"] for r in found["rows"]}
    assert rows["source=bn"] + rows["source=cts"] == rows["all"]
    assert rows["words=1"] + rows["words=2"] == rows["all"]
    assert rows["source = 'cts'"] == rows["source=cts"]


def test_compare_pairs_the_systems(result):
    found = result(
        f"terms compare {REFERENCE} submissions/fair.kwslist.xml submissions/good.kwslist.xml "
        f"{NIST} {FAST} --measure atwv,p_miss"
    )
    [difference] = [
        r for r in found["rows"] if (r["kind"], r["measure"]) == ("difference", "p_miss")
    ]
    own = {
        r["dims"]["system"]: r["value"]
        for r in found["rows"]
        if r["measure"] == "p_miss" and r["kind"] == "value"
    }
    assert difference["value"] == pytest.approx(own["good"] - own["fair"])
    assert difference["baseline"] == "fair"
    assert difference["upper"] < 0


def test_a_comparison_needs_two(run):
    code, _, err = run(f"terms compare {REFERENCE} s.kwslist.xml {NIST}")
    assert (code, "at least two systems" in err) == (2, True)


def test_plan_says_how_many_more_queries(run, result, folder):
    found = result(f"terms plan {REFERENCE} s.kwslist.xml {NIST} {FAST} --measure atwv")
    [row] = found["rows"]
    assert (row["n_units"], row["units_needed"]) == (OCCURRING, math.ceil(4.8 * OCCURRING))
    assert row["more_units"] == row["units_needed"] - OCCURRING


def test_the_application_is_needed(run):
    code, _, err = run(f"terms score {REFERENCE} s.kwslist.xml {FAST}")
    assert code == 2
    assert "the costs of misses and false alarms are not given" in err


def test_standard_input_and_gzip(run, folder, monkeypatch):
    (folder / "z.kwslist.xml.gz").write_bytes(
        gzip.compress((folder / "s.kwslist.xml").read_bytes())
    )
    asked = f"{NIST} {FAST} --measure atwv -q"
    plain = run(f"terms score {REFERENCE} s.kwslist.xml {asked}")[1]
    packed = run(f"terms score {REFERENCE} z.kwslist.xml.gz {asked}")[1]
    assert plain.splitlines()[1].split()[1:] == packed.splitlines()[1].split()[1:]
    assert packed.splitlines()[1].startswith("z ")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "--rttm r.rttm --kwlist t.kwlist.xml s.kwslist.xml",
            "the ECF, a list of the searched audio, is not named",
        ),
        ("--ecf e.ecf.xml --kwlist t.kwlist.xml s.kwslist.xml", "no RTTM is named: give --rttm"),
        (f"{REFERENCE} --occurrences o.csv s.kwslist.xml", "an RTTM and occurrences are named"),
        (
            "--ecf e.ecf.xml --rttm r.rttm s.kwslist.xml",
            "the list of queries is not named: give --kwlist",
        ),
        (REFERENCE, "no system is named"),
        (f"{REFERENCE} s.kwslist.xml --compat f4", "--compat 'f4' is not known (did you mean"),
        (f"{REFERENCE} s.kwslist.xml --tolerance -1", "--tolerance is -1: give a number"),
        (f"{REFERENCE} s.kwslist.xml --tolerance 500", "at most 60; did you mean 0.5?"),
        (f"{REFERENCE} s.kwslist.xml --max-gap -1", "--max-gap is -1: give a number at least 0"),
        (f"{REFERENCE} s.kwslist.xml --trials-per-second 0", "give a number above 0"),
        (f"{REFERENCE} s.kwslist.xml --floor nan", "floor is nan: it must be a finite score"),
        (
            f"{REFERENCE} s.kwslist.xml --query-seconds 0",
            "--query-seconds is 0: give a number above",
        ),
        (f"{REFERENCE} s.kwslist.xml --trial word", "--trial"),
        (f"{REFERENCE} s.kwslist.xml --type posterior", "--type"),
        (
            f"{REFERENCE} s.kwslist.xml --measure act_dcf",
            "is not for terms, but for trials: choose",
        ),
        (f"{REFERENCE} s.kwslist.xml --measure atw", "did you mean 'atwv'?"),
        (f"{REFERENCE} s.kwslist.xml --alignment out.xls", "--alignment out.xls: the ending is"),
        (f"{REFERENCE} s.kwslist.xml --per-query submissions", "is not that of a table"),
        (f"{REFERENCE} s.kwslist.xml --alignment o.csv --per-query ./o.csv", "name one file"),
        (
            f"{REFERENCE} s.kwslist.xml --subset nothing",
            "there is no column 'nothing'",
        ),
        (
            f"{REFERENCE} s.kwslist.xml --indexing other=i.json",
            "there is no system 'other'; the sy",
        ),
        (f"{REFERENCE} new=s.kwslist.xml --searching nw=i.json", "(did you mean 'new'?)"),
        (f"{REFERENCE} a=s.kwslist.xml b=s.kwslist.xml --indexing i.json", "--indexing SYSTEM="),
    ],
)
def test_misuse(run, line, said):
    known = "" if "--preset" in line else NIST
    code, out, err = run(f"terms score {line} {known} {FAST}")
    assert (code, out) == (2, ""), err
    assert said in err


def test_a_file_that_is_read_is_not_written(run, folder):
    before = (folder / "o.csv").read_bytes()
    code, _, err = run(
        f"terms score --ecf e.ecf.xml --occurrences o.csv --kwlist t.kwlist.xml s.kwslist.xml "
        f"{NIST} --alignment o.csv"
    )
    assert code == 2
    assert "o.csv: this is the input file" in err
    assert (folder / "o.csv").read_bytes() == before


BAD = {
    "cut": (lambda text: text[: len(text) // 2], "bad.kwslist.xml, line"),
    "unknown query": (lambda text: text.replace('"K02"', '"K99"', 1), "K99 (line"),
    "decision": (lambda text: text.replace('"YES"', '"MAYBE"', 1), "MAYBE"),
    "number": (lambda text: text.replace('dur="0.400"', 'dur="-0.400"', 1), "-0.4"),
    "nan": (lambda text: text.replace('dur="0.400"', 'dur="nan"', 1), "nan"),
    "twice": (lambda text: text.replace('"K02"', '"K01"', 1), "K01"),
    "bomb": (lambda text: f'<!DOCTYPE x [<!ENTITY a "b">]>{text}', "line 1"),
    "elsewhere": (lambda text: text.replace('file="', 'file="x'), "no detection is in audio"),
    "empty": (lambda _: "", "empty"),
    "prose": (lambda _: "This is no list.\n", "bad.kwslist.xml"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_list_is_refused_and_nothing_is_left(run, folder, name):
    change, said = BAD[name]
    (folder / "bad.kwslist.xml").write_text(change((folder / "s.kwslist.xml").read_text()))
    before = {*folder.iterdir()}
    code, out, err = run(
        f"terms score {REFERENCE} bad.kwslist.xml {NIST} {FAST} -o new --alignment new.csv "
        f"--per-query new2.csv"
    )
    assert (code, out) == (3, ""), err
    assert said in err
    assert "bug in truecost" not in err
    assert {*folder.iterdir()} == before


@pytest.mark.parametrize("name", ["e.ecf.xml", "r.rttm", "t.kwlist.xml"])
@pytest.mark.parametrize("content", ["", "?", "<a>", None])
def test_a_bad_reference_is_refused(run, folder, tmp_path, name, content):
    bad = tmp_path / name
    if content is not None:
        bad.write_text(content)
    line = f"terms score {REFERENCE} s.kwslist.xml {NIST}".replace(name, str(bad))
    code, out, err = run(line)
    assert (code, out) == (3, ""), err
    assert str(bad) in err


def test_plan_says_what_the_units_are_of(run):
    line = f"terms plan {REFERENCE} s.kwslist.xml {NIST} {FAST} --measure atwv"
    code, out, err = run(f"{line} --factors query,document")
    assert code == 0, err
    assert out.splitlines()[1].split()[4] == str(len(searched.DOCUMENTS))
    said = f"the factor with the fewest units; the numbers of query ({OCCURRING})"
    assert f"{said} grow in proportion" in err
    assert "units are those" not in run(line)[2]


def test_every_option_has_a_place_in_the_study(run, folder):
    """What the command line says can be said by a study, and comes back."""
    code, out, err = run(
        f"terms score {REFERENCE} s.kwslist.xml --cost-miss 10 --cost-fa 1 --prior 0.001 "
        f"--type llr --threshold 0.5 --floor -5 --count-all-queries --pooled "
        f"--factors query,document "
        f"--trial document --trials-per-second 2 --tolerance 0.25 --max-gap 0.4 --normalise none "
        f"--split-characters --compat f4de --query-seconds 9 --indexing i.json --searching q.json "
        f"--level 0.9 --replicates 100 --seed 3 --jobs 1 --method auto --icc 0.2 --price miss=2 "
        f"--measure atwv,total_cost --subset source "
        f"--query-unit words --map query=kw --reference-map query=kw --input-format csv "
        f"--print-config"
    )
    assert code == 0, err
    given = {option.key for option in options_of(find("terms")) if option.table != "map"}
    for name in given - {"occurrences", "preset"}:
        assert f"{name} = " in out or f"[data.{name}]" in out or f"[{name}]" in out, name
    assert {option.key for option in declared(Tables)} == {"alignment", "per_query"}
    (folder / "study.toml").write_text(out)
    assert run("terms score --config study.toml --print-config")[1] == out


def test_the_verbs_are_listed(run, capsys):
    code, out, _ = run("terms --help")
    assert code == 0
    for verb in ("score", "compare", "plan", "validate", "leaderboard"):
        assert verb in out


@pytest.mark.parametrize("verb", ["score", "compare", "plan", "validate", "leaderboard"])
def test_every_verb_has_help(run, verb):
    code, out, _ = run(f"terms {verb} --help")
    assert code == 0
    assert "--ecf" in out
    assert "--kwlist" in out


def test_measures_and_formats_and_keys_are_listed(run):
    found = json.loads(run("list measures --json")[1])
    names = {entry["name"] for entry in found if entry["tasks"] == ["terms"]}
    assert {"atwv", "mtwv", "otwv", "stwv", "p_miss", "p_fa", "map", "cnxe:pooled"} <= names
    keys = run("list map")[1]
    assert "decision about a detection: YES or NO, 1 or 0, true or false (terms)" in keys
    assert "terms" in run("list formats")[1]


def test_citations(run):
    code, out, _ = run(f"terms score {REFERENCE} s.kwslist.xml --cite")
    assert code == 0
    assert "MediaEval" in out


def test_verbose_says_what_there_is(run):
    err = run(f"terms score {REFERENCE} s.kwslist.xml {NIST} {FAST} --measure atwv -v")[2]
    assert "of 12 queries in 4 documents (480 s)" in err
    assert (
        f"resampling: query ({OCCURRING} units); counts of queries in documents are weighted" in err
    )


def test_paths_do_not_decide_the_result(run, folder, tmp_path, monkeypatch):
    asked = f"{NIST} {FAST} --measure atwv --json"
    here = run(f"terms score {REFERENCE} s.kwslist.xml {asked}")[1]
    searched.written(tmp_path)
    far = " ".join(
        str(tmp_path / word) if Path(word).suffix else word for word in REFERENCE.split()
    )
    assert run(f"terms score {far} {tmp_path}/s.kwslist.xml {asked} --jobs 1")[1] == here


def test_the_corner_cases_run_or_say_why_not(shared, run):
    for case in sorted((shared / "cases/terms/edge").iterdir()):
        code, out, err = run(
            f"terms score --ecf {case}/e.ecf.xml --rttm {case}/r.rttm --kwlist {case}/t.kwlist.xml "
            f"{case}/s.kwslist.xml {NIST} --compat f4de --replicates 20 -q"
        )
        unknown = case.name.startswith("33_")
        assert code == (3 if unknown else 0), f"{case.name}: {err}"
        assert bool(out) != unknown
        assert ("K9 (line 5)" in err) == unknown
