"""A choice is said once: every door has its range, its words and its default."""

import dataclasses
import math
import re
from importlib.resources import files

import pytest

import truecost as tc
from truecost import cli
from truecost.cli import lists, schemas
from truecost.options import check_fields, declared
from truecost.outputs.diarization import DiarizationOptions
from truecost.outputs.options import DiarizationTable, TranslationTable
from truecost.outputs.translation import TranslationOptions
from truecost.outputs.utterances import TextOptions
from truecost.prices import Prices
from truecost.study.checking import idle
from truecost.study.tables import DataTable, IntervalTable
from truecost.tasks import find, names
from truecost.tasks.abba.columns import LogOptions
from truecost.tasks.abba.options import AbbaTable
from truecost.tasks.lifelong.kinds import PenalisedDiarization
from truecost.tasks.lifelong.options import LifelongTable, PolicyTable
from truecost.tasks.lifelong.settings import Policy
from truecost.tasks.streams.options import StreamScoring, StreamTable
from truecost.tasks.terms.aligning import SearchOptions
from truecost.tasks.terms.options import TermsScoring, TermsTable
from truecost.tasks.terms.reference import ReferenceOptions
from truecost.verbs import options_of

DECLARED = {  # what Python users give, and where its choices are declared
    tc.Plan: IntervalTable,
    tc.Scoring: IntervalTable,
    DiarizationOptions: DiarizationTable,
    LogOptions: AbbaTable,
    PenalisedDiarization: LifelongTable,
    Policy: PolicyTable,
    ReferenceOptions: TermsTable,
    SearchOptions: TermsTable,
    StreamScoring: StreamTable,
    TermsScoring: TermsTable,
    TextOptions: DataTable,
    TranslationOptions: TranslationTable,
}
WITHOUT = ("q", "kind")  # the word for N / N_target, and what has to be said


@pytest.mark.parametrize("kind", DECLARED, ids=lambda kind: kind.__name__)
def test_defaults_are_those_that_are_declared(kind):
    known = {option.key: option.option.default for option in declared(DECLARED[kind])}
    same = {
        field.name: (field.default, known[field.name])
        for field in dataclasses.fields(kind)
        if known.get(field.name) is not None and field.name not in WITHOUT
    }
    assert same
    assert all(one == other for one, other in same.values()), same


def priced(**prices):
    return tc.Application(prices=Prices(**prices))


RANGES = {
    "collar": (DiarizationOptions, "collar", 250, "at least 0 and at most 10; did you mean 0.25?"),
    "tolerance": (SearchOptions, "tolerance", 500, "at least 0 and at most 60; did you mean 0.5?"),
    "gap": (ReferenceOptions, "max_gap", -1, "max_gap is -1: give a number at least 0"),
    "nan": (ReferenceOptions, "max_gap", math.nan, "max_gap is nan: give a finite number"),
    "text": (ReferenceOptions, "trials_per_second", "1", "is '1': give a number above 0"),
    "truth": (ReferenceOptions, "trials_per_second", True, "is True: give a number above 0"),
    "q": (StreamScoring, "q", -1, "q is -1: give a number at least 0"),
    "price": (priced, "person", -1, "prices person is -1: give a number at least 0"),
    "word": (StreamScoring, "queried", "rigth", "is 'rigth' (did you mean 'right'?): choose one"),
    "words": (StreamScoring, "annotations", ("query",), "did you mean 'queries'?"),
    "letters": (TextOptions, "normalise", "lower", "is the text 'lower', not several: write ("),
    "missing": (TranslationOptions, "missing", "none", "missing is 'none': choose one of error"),
    "half-life": (Policy, "half_life", 0, "half_life is 0: give a number above 0"),
    "share": (LogOptions, "split", 50, "split is 50: give a number above 0 and below 1; did you"),
}


@pytest.mark.parametrize("case", RANGES)
def test_objects_refuse_what_is_out_of_range(case):
    kind, name, value, said = RANGES[case]
    with pytest.raises(tc.UsageError) as found:
        kind(**{name: value})
    assert said in str(found.value)


DOORS = {
    "trials": ("prior", 5, "is 5: give a number above 0 and below 1; did you mean 0.05?"),
    "transcripts": ("level", 95, "is 95: give a number above 0 and below 1; did you mean 0.95?"),
    "translation": ("replicates", 0, "is 0: give a number at least 1"),
    "diarization": ("collar", 250, "is 250: give a number at least 0 and at most 10; did you"),
    "abba": ("exposure_a", 0, "is 0: give a number above 0"),
    "terms": ("max_gap", -1, "is -1: give a number at least 0"),
    "streams": ("window", 0, "is 0: give a number at least 1"),
    "lifelong": ("half_life", 0, "is 0: give a number above 0"),
}


@pytest.mark.parametrize("task", DOORS)
def test_a_range_holds_at_every_door(task, tmp_path, capsys):
    key, value, said = DOORS[task]
    option = {o.key: o for o in options_of(find(task), "score")}[key]
    file = tmp_path / "system.csv"
    file.write_text("id,score,label\na,1,1\nb,0,0\n")
    right = ["--ecf", str(file), "--occurrences", str(file)] if task == "terms" else []
    both = [str(file), str(file)] if "reference" in find(task).leading else [str(file)]
    assert cli.run([task, "score", *both, *right, option.flag, str(value)]) == 2
    assert f"{option.flag} {said}" in capsys.readouterr().err.replace("\n", " ")
    given = {"reference": file} if len(both) == 2 else {}
    if task == "terms":
        given = {"ecf": file, "occurrences": file}
    with pytest.raises(tc.UsageError) as found:
        tc.score(file, task=task, **given, **{option.name: value})
    assert f"{option.name} {said}" in str(found.value)
    tables = {"task": task, "systems": {"system": {"file": str(file)}}, option.table: {key: value}}
    data = {name: [str(file)] if name == "reference" else str(file) for name in given}
    tables["data"] = data | tables.get("data", {})
    with pytest.raises(tc.UsageError) as found:
        tc.run(tables)
    assert f"{key} " in str(found.value)
    assert said in str(found.value)


def test_every_number_that_is_a_share_or_a_count_has_a_range():
    free = {"threshold", "threshold_a", "threshold_b", "floor", "bounds", "training_prior"}
    free |= {"asv_threshold", "priors", "cost_matrix", "max_rfpr", "min_rrecall", "grid", "budget"}
    for task in names():
        for option in options_of(find(task), "score"):
            if option.kind in (int, float) and option.key not in free:
                assert option.option.range, (task, option.key)


def test_fields_that_are_not_given_are_not_checked():
    check_fields(StreamScoring(), StreamTable)
    with pytest.raises(tc.UsageError, match="max_gap is None: give a number at least 0"):
        ReferenceOptions(max_gap=None)


@pytest.mark.parametrize("place", ["data", "first", "second"])
def test_an_option_that_cannot_apply_is_refused_wherever_it_stands(place):
    systems = {"first": {"file": "a.csv"}, "second": {"file": "b.csv"}}
    tables = {"data": {"type": "llr"}, "systems": systems}
    {"data": tables["data"], **systems}[place]["clip"] = 0.1
    with pytest.raises(tc.UsageError, match='clip is for type="posterior"'):
        tc.Study.from_tables(tables).check()
    systems["second"]["type"] = "posterior"
    if place == "first":
        with pytest.raises(tc.UsageError, match='clip is for type="posterior"'):
            tc.Study.from_tables(tables).check()
    else:
        tc.Study.from_tables(tables).check()


IDLE = {  # data, options that cannot apply to them, and what is said
    "classes of two": ("score", "s.csv", {"type": "llr", "classes": "a,b"}, "classes is for"),
    "classes of one score": (
        "score",
        "p.csv",
        {"type": "posterior", "classes": "a,b"},
        "classes is for one score a class",
    ),
    "target of numbers": ("score", "s.csv", {"type": "number", "target": "1"}, "target is for"),
    "target of soft labels": (
        "score",
        "soft.csv",
        {"type": "llr", "soft": "soft", "target": "1"},
        "target is for labels of classes",
    ),
    "threshold of classes": (
        "score",
        "k.csv",
        {"type": "posterior", "map": "score=a+b+c", "threshold": "0.5"},
        "threshold is for targets and nontargets",
    ),
    "case of TER": (
        "translation score",
        "r.csv",
        {"measure": "ter", "lowercase": True},
        "is for measure bleu or chrf",
    ),
    "tokens of chrF": (
        "translation score",
        "r.csv",
        {"measure": "chrf", "tokenizer": "char"},
        "tokenizer is for measure bleu",
    ),
    "help of scores": (
        "lifelong score",
        "m.csv",
        {"higher": True, "item_seconds": 3},
        "item_seconds is for",
    ),
    "cost of scores": (
        "lifelong score",
        "m.csv",
        {"higher": True, "cost": "words"},
        "cost is for help in event logs or a learning curve",
    ),
    "compat of scores": (
        "lifelong score",
        "m.csv",
        {"higher": True, "compat": "allies-2020"},
        "compat is for",
    ),
    "policy of no score": (
        "lifelong score",
        "c.csv",
        {"higher": True, "policy": "recent:2", "measure": "area_under_curve"},
        "policy is for measure policy_score or",
    ),
    "half-life of uniform": (
        "lifelong score",
        "m.csv",
        {"higher": True, "half_life": 3},
        "half-life is for --policy recent or",
    ),
    "drawing of unknown users": (
        "abba score",
        "log.csv",
        {"resample": "multinomial"},
        "resample is for --users or --units-a and",
    ),
    "split of unknown users": ("abba score", "log.csv", {"split": 0.5}, "split is for --users"),
    "pooling of one stream": (
        "streams score",
        "e.jsonl",
        {"pooling": "macro"},
        "pooling is for several streams",
    ),
    "seconds of decisions": (
        "streams score",
        "e.jsonl",
        {"item_seconds": 3, "measure": "act_dcf"},
        "item-seconds is for measure",
    ),
    "no collar": (
        "diarization score",
        "r.rttm",
        {"mapping": "evaluated"},
        "is for",
    ),
    "mapping of voice activity": (
        "diarization score",
        "r.rttm",
        {"mapping": "evaluated", "collar": 0.1, "measure": "jer"},
        "mapping is for measure der or",
    ),
}
FILES = {
    "s.csv": "id,score,label\na,1,1\nb,0,0\nc,2,1\nd,1,0\n",
    "p.csv": "id,score,label\na,0.9,1\nb,0.2,0\nc,0.8,1\nd,0.1,0\n",
    "soft.csv": "id,score,soft\na,1,0.9\nb,0,0\nc,2,1\nd,1,0.4\n",
    "k.csv": "id,a,b,c,label\na,0.8,0.1,0.1,a\nb,0.1,0.8,0.1,b\nc,0.1,0.1,0.8,c\n",
    "r.csv": "id,text\na,one two three four five\nb,six seven eight nine ten\n",
    "m.csv": "version,time,score\n1,1,0.5\n1,2,0.4\n2,1,0.6\n2,2,0.7\n",
    "c.csv": "cost,score\n0,0.5\n5,0.7\n9,0.8\n",
    "log.csv": "id,collected_by,score_a,score_b,label,unit\n"
    + "".join(
        f"{arm}{k},{arm},{k % 3 + (arm == 'A')},{k % 4 + (arm == 'B')},{k % 5 > 0:d},{arm}{k % 9}\n"
        for arm in "AB"
        for k in range(60)
    ),
    "e.jsonl": "".join(
        f'{{"event":"predict","phase":"pre","batch":{k // 4},"id":"{k}","score":{k % 3 - 1},'
        f'"decision":{int(k % 3 > 1)},"label":{int(k % 5 > 3)}}}\n'
        for k in range(40)
    ),
    "r.rttm": "SPEAKER a 1 0 5 <NA> <NA> x <NA> <NA>\nSPEAKER a 1 5 5 <NA> <NA> y <NA> <NA>\n",
}


@pytest.mark.parametrize("case", IDLE)
def test_what_cannot_apply_to_the_data_is_refused_at_every_door(case, tmp_path, capsys):
    words, name, given, said = IDLE[case]
    file = tmp_path / name
    file.write_text(FILES[name])
    task = words.partition(" ")[0] if " " in words else "trials"
    face = find(task)
    leads = "reference" in face.leading
    flags = [
        f"--{key.replace('_', '-')}" + ("" if value is True else f"={value}")
        for key, value in given.items()
    ]
    assert cli.run([*words.split(), *[str(file)] * (1 + leads), *flags]) == 2
    err = " ".join(capsys.readouterr().err.split())
    assert said.replace("_", "-", said.startswith("item")) in err
    arguments = {"measures" if k == "measure" else k: v for k, v in given.items()}
    with pytest.raises(tc.UsageError) as found:
        tc.score(file, task=task, **arguments, **({"reference": file} if leads else {}))
    assert "is for" in str(found.value)
    with pytest.raises(tc.UsageError) as found:
        tc.run(_study_of(face, str(file), given, leads=leads))
    assert "is for" in str(found.value)


def _study_of(face, file, given, *, leads):
    """The tables of a study with the options of a verb."""
    known = {option.name: option for option in options_of(face, "score")}
    tables = {"task": face.name, "systems": {"system": {"file": file}}, "data": {}}
    for name, text in given.items():
        if name == "measure":
            tables["measures"] = [text]
            continue
        option = known[name]
        value = option.option.read(text, name) if option.option.read else text
        place = tables.setdefault("data" if option.table == "map" else option.table, {})
        if option.table == "map":
            place.setdefault("map", {})[option.key] = value
        else:
            place[option.key] = list(value) if isinstance(value, tuple) else value
    if leads:
        tables["data"]["reference"] = [file]
    return tables


def test_an_option_that_applies_to_one_of_the_systems_is_taken():
    from truecost.study.checking import refuse_idle
    from truecost.tasks.lifelong.options import LOGS, SCORES

    table = LifelongTable(higher=True)
    refuse_idle([(table, {"data": SCORES}), (table, {"data": LOGS})])
    with pytest.raises(tc.UsageError, match="higher is for a table of scores: leave it out"):
        refuse_idle([(table, {"data": LOGS})])


def test_options_of_a_type_are_taken_where_the_file_may_state_the_type():
    assert not idle(DataTable(classes=("a", "b"), training_prior=(0.1,), llr_base=10.0))
    assert len(idle(DataTable(type="score", classes=("a", "b"), training_prior=(0.1,)))) == 2


def test_messages_say_what_was_given_and_what_may_be(tmp_path, capsys):
    assert cli.run(["score", "x.csv", "--type", "lr"]) == 2
    err = capsys.readouterr().err
    assert "--type is 'lr' (did you mean 'llr'?): choose one of llr, posterior" in err
    scores = {"a": [1.0, 2.0], "b": [2.0, 1.0]}
    with pytest.raises(tc.UsageError, match="labels=ARRAY"):
        tc.score(scores=[1.0, 2.0], type="llr")
    for verb in (tc.score, tc.compare):
        with pytest.raises(tc.UsageError, match=r"scores=\{NAME: ARRAY"):
            verb(scores, labels=[1, 0], type="llr")
    with pytest.raises(tc.UsageError, match="training_prior is 3: give a number at least 0 and at"):
        tc.score(scores=[0.1, 0.2], labels=[1, 0], type="posterior", training_prior=3)
    file = tmp_path / "r.csv"
    file.write_text(FILES["r.csv"])
    with pytest.raises(tc.UsageError, match="the columns are id: map one with unit=COLUMN"):
        tc.score(file, reference=file, task="translation", unit="zzz")


@pytest.mark.parametrize(
    ("task", "given", "said"),
    [
        ("transcripts", {"normalise": "lowr"}, "'lowr' is not known"),
        ("translation", {"tokenizer": "13"}, "'13' is not known"),
    ],
)
def test_words_are_checked_without_a_reference(task, given, said, tmp_path):
    file = tmp_path / "r.csv"
    file.write_text(FILES["r.csv"])
    with pytest.raises(tc.UsageError, match=said):
        tc.validate(file, task=task, **given)
    found = tc.validate(file, task=task, unit="zzz")
    assert "is not checked: no reference is given" in str(found.checks)


@pytest.mark.parametrize("more", [["other.csv"], ["--in-sample"], ["--fold", "id"]])
def test_folds_go_with_one_file(more, tmp_path, capsys):
    for name in ("s.csv", "other.csv"):
        (tmp_path / name).write_text(FILES["s.csv"])
    files = [str(tmp_path / "s.csv"), *(str(tmp_path / m) if ".csv" in m else m for m in more)]
    assert cli.run(["calibrate", *files, "--type", "llr", "--folds", "2"]) == 2
    assert "--folds is for cross-fitting" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"query": "x"}, "query=... is for a table"),
        ({"query_seconds": 9}, "query_seconds is for searching"),
        ({"reference_map": {"query": "x"}}, "reference_map query=... is for a table of"),
        ({"measures": "atwv", "floor": -100}, "floor is for measure cnxe or min_cnxe"),
    ],
)
def test_a_kwslist_has_no_columns_and_a_floor_is_of_cross_entropies(given, said):
    demo = files("truecost") / "data" / "demo" / "terms"
    places = {"ecf": "e.ecf.xml", "rttm": "r.rttm.gz", "kwlist": "t.kwlist.xml"}
    places = {key: str(demo / name) for key, name in places.items()}
    given = {"preset": "nist-std-2006", **given}
    with pytest.raises(tc.UsageError) as found:
        tc.score(str(demo / "full.kwslist.xml.gz"), task="terms", replicates=10, **places, **given)
    assert said in str(found.value)


def test_every_key_of_every_table_of_a_study_has_a_description():
    found = schemas._schema_of_studies()["$defs"]
    for name, table in found.items():
        assert table["description"], name
        for key, said in table["properties"].items():
            kinds = [said, said.get("items", {}), said.get("additionalProperties")]
            is_table = any("$ref" in kind for kind in kinds if isinstance(kind, dict))
            assert is_table or said["description"], (name, key)


@pytest.mark.parametrize("task", names())
def test_lists_help_and_schema_say_the_same(task, capsys):
    face, listed = find(task), {one["name"]: one for one in lists.options(task)}
    for verb in face.verbs:
        assert cli.run([task, verb, "--help"]) == 0
        shown = {*re.sub("[│╭╮╰╯─]", "", capsys.readouterr().out).split()}
        taken = options_of(face, verb)
        assert {o.flag for o in taken} == {n for n, one in listed.items() if verb in one["verbs"]}
        for option in taken:
            said = f"{option.flag} {option.text}"
            said += f" Default: {option.default}." if option.default else ""
            assert {*said.split()} <= shown, option.flag
            assert listed[option.flag]["default"] == option.default
            schema = schemas._schema_of_table(option.owner).get(option.key, {})
            assert schema.get("x-default", option.option.default) == option.option.default


LIVE = {
    "batch": (lambda: tc.learning.Budget(-1), "budget is -1: give a number at least 0"),
    "loop": ({"loop": {"batch": 0}}, "[loop] batch is 0: give a number at least 1"),
    "expert": (
        {"expert": {"error_rate": 50}},
        "error_rate is 50: give a number at least 0",
    ),
    "help": ({"help": {"document": 0}}, "[help] document is 0: give a number at least 1"),
    "sweep": ({"sweep": {"budgets": [1, -1]}}, "[sweep] budgets is -1: give a number at least 0"),
    "worst": ({"worst": -1}, "worst is -1: give a number at least 0"),
}


@pytest.mark.parametrize("case", LIVE)
def test_tables_of_live_runs_have_ranges_too(case):
    tables, said = LIVE[case]
    study = {"task": "streams", "source": {"name": "digits"}}
    with pytest.raises(tc.UsageError) as found:
        tables() if callable(tables) else tc.Study.from_tables(study | tables).check()
    assert said in str(found.value)
