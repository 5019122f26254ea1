"""Flags and dims: each is named in one place, and every reader takes it from there."""

import ast
import re
from pathlib import Path

import msgspec
import pytest

import truecost as tc
from truecost.cli import tables as values
from truecost.core.digits import dims_of
from truecost.core.flags import FLAGS, Flag, raised, warning_of
from truecost.core.results import Row
from truecost.gates import Gate, check
from truecost.names import DIMS, PARTS
from truecost.pictures import tables
from truecost.pictures.rows import WEAK
from truecost.report import words

SOURCE = Path(__file__).parents[1] / "src" / "truecost"
TRIALS = tc.Trials.from_arrays([1, 0] * 30, [1, 0] * 25 + [0, 1] * 5, kind="decision", name="mine")
[ESTIMATE] = tc.score_system(TRIALS, tc.Scoring(measures=("total_error",), plan=tc.Plan(50)))
ROW = ESTIMATE.row()


def changed(**fields):
    return msgspec.structs.replace(ROW, **fields)


def set_in_code() -> set[str]:
    """The flags that any code sets: `raised(name=...)` is the only way."""
    found = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "raised":
                assert not node.args, path
                found |= {keyword.arg for keyword in node.keywords}
    return found


def test_every_flag_that_code_sets_is_known_and_documented():
    documented = re.findall(r"^ +- `(\w+)`:", Row.__doc__.partition("flags :")[2], re.MULTILINE)
    assert set_in_code() == set(FLAGS) == set(documented)
    assert len(documented) == len(FLAGS)


def test_the_guide_has_the_mark_of_every_flag():
    guide = (SOURCE.parents[1] / "docs" / "command-line.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| `(\w+)` \| (?:`([^`]+)`)? ?\|", guide.partition("| printed mark |")[2], re.M
    )
    assert dict(rows[: len(FLAGS)]) == {name: flag.mark for name, flag in FLAGS.items()}


def test_an_unknown_flag_cannot_be_raised():
    assert raised(few_units=True, crossed=False, no_spread=True) == ("few_units", "no_spread")
    with pytest.raises(KeyError):
        raised(few_unit=False)


@pytest.mark.parametrize("flag", FLAGS.values(), ids=[*FLAGS])
def test_every_reader_says_a_flag_in_its_words(flag):
    flagged = changed(flags=(flag.name,))
    assert flag.advice
    assert values.note_of(flagged) == flag.mark
    assert words.caveats(flagged) == flag.caveat
    assert (flag.name in WEAK) is flag.weak
    [verdict] = check([Gate(measure="total_error", max_upper=1)], [flagged])
    assert verdict.message.endswith(f"; warning: {flag.warning or flag.mark}")
    assert flag.warning or flag.mark


def test_what_always_decides_as_the_naive_system_has_spread_enough():
    """No lack of data: each replicate gets the naive value. One of 0 may be no error seen."""
    labels = [1, 0] * 30
    measures = ("nec", "total_error", "p_miss")
    for decided, flagged in (([0] * 60, [False, False, True]), (labels, [True] * 3)):
        trials = tc.Trials.from_arrays(decided, labels, kind="decision")
        how = tc.Scoring(
            tc.Application.detection(prior=0.1), measures, plan=tc.Plan(50), method="percentile"
        )
        rows = tc.score_system(trials, how)
        assert all(row.lower == row.upper for row in rows)
        assert ["no_spread" in row.flags for row in rows] == flagged
    late = tc.Trials.from_arrays([3.0] * 5 + [1.0, 0.0] * 30, [0] * 5 + [1, 0] * 30, kind="llr")
    [row] = tc.score_system(
        late,
        tc.Scoring(
            tc.Application.detection(prior=0.01),
            ("min_dcf",),
            plan=tc.Plan(50),
            method="percentile",
        ),
    )
    assert (row.value, row.lower, row.upper) == (1, 1, 1)
    assert "no_spread" in row.flags  # no threshold costs more: 1 is an end of the range


def test_a_flag_of_another_version_is_said_by_its_name():
    flagged = changed(flags=("odd_weather", "few_units"))
    assert warning_of("odd_weather") == "odd weather"
    assert words.caveats(flagged) == FLAGS["few_units"].caveat
    assert values.note_of(flagged) == tables.note(flagged) == "odd weather, few units"


def test_a_new_flag_reaches_every_reader(monkeypatch):
    new = Flag("odd_weather", "odd", "it rained", caveat="it rained a lot", warning="rain")
    monkeypatch.setitem(FLAGS, new.name, new)
    flagged = changed(flags=raised(odd_weather=True))
    assert values.note_of(flagged) == "odd"
    assert words.caveats(flagged) == "it rained a lot"
    assert warning_of(new.name) == "rain"


def test_dims_stand_in_one_order_and_unknown_ones_follow():
    rows = [
        changed(dims={"query": "q1", "subset": "a", "system": "s"}),
        changed(dims={"time": "t"}),
    ]
    assert dims_of(rows) == ("system", "subset", "query", "time")
    assert dims_of([changed(dims=dict.fromkeys(reversed(DIMS), "x"))]) == DIMS
    assert set(PARTS) < set(DIMS)


def test_every_dim_can_be_named_by_a_gate():
    assert set(DIMS) <= set(Gate.__struct_fields__)


@pytest.mark.parametrize("dim", ["phase", "version", "time", "query", "budget", "strategy"])
def test_a_new_dim_is_shown_in_every_table(dim):
    rows = [changed(dims={"system": "mine", dim: name}) for name in ("first", "second")]
    for table in (values.values(rows), tables.of_values("values", rows, 9)):
        names = getattr(table, "names", None) or table.header
        shown = [row[names.index(dim)] for row in table.rows]
        assert shown == ["first", "second"]
    pairs = [(changed(kind="difference", baseline="old", dims=r.dims), r) for r in rows]
    table = tables.of_pairs("pairs", pairs, 9)
    assert [row[table.header.index(dim)] for row in table.rows] == ["first", "second"]
    narrow = values.values(rows).fitted(40)
    assert dim in narrow.names


# One wording for one flag


@pytest.mark.parametrize("name", FLAGS)
def test_terminal_and_report_say_the_same_of_a_flag(name):
    row, mark = changed(flags=(name,)), FLAGS[name].mark
    assert values.note_of(row) == mark
    assert tables.note(row) == (mark or warning_of(name))


def test_an_interval_of_few_runs_is_not_called_conservative():
    row = changed(flags=("crossed", "few_runs"))
    assert values.note_of(row) == tables.note(row) == "few runs"
    assert words.caveats(row) == FLAGS["few_runs"].caveat
    [verdict] = check([Gate(measure="total_error", max_upper=1.0)], [row])
    assert verdict.flags == row.flags
    assert "conservative" not in verdict.message
    assert "few runs" in verdict.message
    assert values.note_of(changed(flags=("crossed",))) == "conservative"


def test_scores_taken_as_llrs_are_said_so_everywhere():
    row = changed(flags=("not_llrs",))
    assert values.note_of(row) == tables.note(row) == "scores taken as LLRs"
    assert warning_of("not_llrs") == "scores taken as LLRs"


def test_no_other_place_spells_a_flag_out():
    """Only flags.py turns the name of a flag into words."""
    own = re.compile(r"flag\w*\.replace\(\"_\", \" \"\)|FLAGS\[[^\]]+\]\.mark")
    for path in SOURCE.rglob("*.py"):
        if path.name != "flags.py":
            assert not own.search(path.read_text(encoding="utf-8")), path
