"""The file of the results ledger: idempotent, chained, mended, written by several processes."""

import hashlib
import json

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nursery
from truecost import cli
from truecost.errors import InputError
from truecost.protocol.ledger import (
    Figure,
    Line,
    Scored,
    encoded,
    evaluation_sets,
    keep,
    read_ledger,
)


def scoring(evaluation="set", values=None, direction="lower", measure="nec", **changed):
    """A line without its number; the hash of a system is its name unless given as name@hash."""
    values = {"a": 0.5} if values is None else values
    names = {name: name.partition("@")[0] for name in values}
    hashes = [Scored(name=names[n], sha256=n.partition("@")[2] or n) for n in values]
    figure = Figure(
        measure=measure, direction=direction, values={names[n]: v for n, v in values.items()}
    )
    settled = {
        "schema_version": 1,
        "evaluation": evaluation,
        "task": "trials",
        "items": 10,
        "systems": tuple(hashes),
        "figures": (figure,),
        "configuration": "c",
        "truecost": "0",
    }
    return Line(**{**settled, **changed})


SETS, NAMES = st.sampled_from(["x", "y"]), st.sampled_from("abc")
VALUES = st.dictionaries(NAMES, st.none() | st.floats(0, 2), min_size=1)
SCORINGS = st.lists(st.builds(scoring, SETS, VALUES), min_size=1, max_size=6)


@settings(max_examples=30, deadline=None)
@given(SCORINGS)
def test_what_is_kept_twice_is_kept_once_and_can_be_read(tmp_path_factory, scorings):
    path = tmp_path_factory.mktemp("ledger") / "ledger.jsonl"
    found, places, said = keep(path, scorings)
    before = path.read_bytes()
    again, same, _ = keep(path, scorings)
    assert (places, path.read_bytes(), said) == (same, before, [])
    read = read_ledger(path)
    assert read.lines == found.lines == again.lines
    assert (read.faults, read.torn, read.last) == ((), b"", found.last)
    assert [line.number for line in read.lines] == [*range(1, len(read.lines) + 1)]
    for place, given_ in zip(places, scorings, strict=True):
        assert read.lines[place - 1].scoring == given_.scoring
    one_by_one = path.with_name("other.jsonl")
    for given_ in scorings:
        keep(one_by_one, [given_])
    assert one_by_one.read_bytes() == before


@settings(max_examples=30, deadline=None)
@given(SCORINGS, st.data())
def test_a_line_that_was_changed_or_removed_is_named(tmp_path_factory, scorings, data):
    path = tmp_path_factory.mktemp("ledger") / "ledger.jsonl"
    scorings = [*scorings, scoring("z"), scoring("zz")]
    keep(path, scorings)
    lines = path.read_bytes().splitlines(keepends=True)
    place = data.draw(st.integers(0, len(lines) - 2))
    if data.draw(st.booleans()):
        changed = json.loads(lines[place]) | {"items": 11}
        lines[place] = json.dumps(changed).encode() + b"\n"
        place += 1
    else:
        del lines[place]
    path.write_bytes(b"".join(lines))
    found = read_ledger(path)
    assert f", line {place + 1}:" in found.faults[0]
    _, _, said = keep(path, [scoring("new")])
    assert list(found.faults) == said
    assert len(read_ledger(path).faults) == len(found.faults)  # the new line follows the last


def test_names_of_systems_do_not_make_another_scoring_and_all_else_does(tmp_path):
    path = tmp_path / "ledger.jsonl"
    first = scoring(values={"a": 0.5, "b": 0.25})
    others = [
        scoring("other", {"a": 0.5, "b": 0.25}),
        scoring(values={"a": 0.5, "b": 0.75}),
        scoring(values={"a": 0.5, "b": None}),
        scoring(values={"a": 0.5}),
        scoring(values={"a": 0.5, "c": 0.25}),
        scoring(values={"a": 0.5, "b": 0.25}, measure="eer"),
        scoring(values={"a": 0.5, "b": 0.25}, purpose="development"),
    ]
    keep(path, [first])
    renamed = scoring(values={"x@a": 0.5, "y@b": 0.25})
    set_up_otherwise = scoring(
        values={"b": 0.25, "a": 0.5}, configuration="d", truecost="1", collection="n"
    )
    assert keep(path, [renamed, set_up_otherwise])[1] == [1, 1]
    assert keep(path, others)[1] == [2, 3, 4, 5, 6, 7, 8]


def test_a_line_that_was_cut_off_is_taken_away_and_said(tmp_path):
    path = tmp_path / "ledger.jsonl"
    keep(path, [scoring("x"), scoring("y")])
    whole = path.read_bytes()
    first = whole.index(b"\n") + 1
    for cut in (1, 40, len(whole) - first - 2):
        path.write_bytes(whole[: first + cut])
        assert (read_ledger(path).torn, len(read_ledger(path).lines)) == (
            whole[first : first + cut],
            1,
        )
        _, places, said = keep(path, [scoring("y")])
        assert (places, path.read_bytes()) == ([2], whole)
        assert said == [f"{path}, line 2: it was cut off while it was written, and is removed"]


def test_a_last_line_without_its_line_break_stays(tmp_path):
    path = tmp_path / "ledger.jsonl"
    keep(path, [scoring("x"), scoring("y")])
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    _, places, said = keep(path, [scoring("y")])
    assert (places, path.read_bytes()) == ([2], whole)
    assert said == [f"{path}, line 2: its missing line break is restored"]


def test_each_line_holds_the_hash_of_the_bytes_before_it(tmp_path):
    path = tmp_path / "ledger.jsonl"
    keep(path, [scoring("x"), scoring("y"), scoring("z")])
    lines = path.read_bytes().splitlines()
    told = [msgspec.json.decode(line).get("previous", "") for line in lines]
    assert told == ["", *(hashlib.sha256(line).hexdigest() for line in lines[:-1])]


WRITER = """
import sys
sys.path.insert(0, sys.argv[1])
from test_ledger import scoring
from truecost.protocol.ledger import keep
for k in range(15):
    keep(sys.argv[2], [scoring(f"set {k}"), scoring(f"{sys.argv[3]} {k}")])
"""


def test_processes_that_write_at_the_same_time_lose_nothing(tmp_path, request):
    path = tmp_path / "ledger.jsonl"
    here = str(request.path.parent)
    writers = [nursery.python(["-c", WRITER, here, path, name]) for name in "pqr"]
    assert [writer.wait(120) for writer in writers] == [0, 0, 0]
    found = read_ledger(path)
    assert (found.faults, found.torn) == ((), b"")
    assert len(found.lines) == 15 + 3 * 15
    wanted = {f"{of} {k}" for of in ("set", *"pqr") for k in range(15)}
    assert {line.evaluation for line in found.lines} == wanted


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"id,score\n1,2\n", "line 1: this line is not from a ledger of results"),
        (b"{}\n", "line 1: this line is not from a ledger of results"),
        (b"\xff\xfe\n", "line 1: this line is not from a ledger of results"),
        (b'{"schema_version": 2}\n', "line 1: layout 2 is newer than 1"),
        (encoded(scoring()) + b"\n", "line 2: this line is not from a ledger of results"),
        (
            b'{"schema_version": 1, "number": "x"}\n',
            "line 1: this line is not from a ledger of results",
        ),
    ],
)
def test_a_file_that_is_no_ledger_is_refused_and_left_alone(tmp_path, content, said):
    path = tmp_path / "ledger.jsonl"
    path.write_bytes(content)
    for act in (read_ledger, lambda p: keep(p, [scoring()])):
        with pytest.raises(InputError) as caught:
            act(path)
        assert f"{path}, {said}" in str(caught.value)
    assert path.read_bytes() == content


def test_a_place_that_cannot_be_written_is_an_error(tmp_path):
    with pytest.raises(InputError, match="cannot be written"):
        keep(tmp_path / "no" / "ledger.jsonl", [scoring()])
    with pytest.raises(InputError, match="cannot be written"):
        keep(tmp_path, [scoring()])
    with pytest.raises(InputError, match="there is no such file"):
        read_ledger(tmp_path / "nothing")
    with pytest.raises(InputError, match="this is a folder: name a file"):
        read_ledger(tmp_path)


def test_the_sets_of_a_ledger(tmp_path):
    path = tmp_path / "ledger.jsonl"
    keep(
        path,
        [
            scoring("x", {"a": 0.5, "b": 0.25}),
            scoring("y", {"a": 0.5, "b": None}, direction="higher", measure="auc"),
            scoring("x", {"c": 0.75, "b": 0.25}, purpose="development"),
            scoring("x", {"d": 0.125}, measure="eer"),
        ],
    )
    first, second = evaluation_sets(read_ledger(path))
    assert (first.scored, first.as_development, first.first, first.last) == (3, 1, 1, 4)
    assert [s.name for s in first.systems] == ["a", "b", "c", "d"]
    told = [(b.measure, b.value, b.system, b.line, b.of) for b in first.best]
    assert told == [("nec", 0.25, "b", 1, 3), ("eer", 0.125, "d", 4, 1)]
    assert [(b.value, b.system, b.of) for b in second.best] == [(0.5, "a", 1)]


def test_the_command_shows_the_sets_and_names_a_broken_line(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    keep("ledger.jsonl", [scoring("x" * 64, {"a": 0.5}), scoring("x" * 64, {"b": 0.25})])
    assert cli.run(["protocol", "ledger", "ledger.jsonl"]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[1].split() == ["x" * 12, "2", "2", "10", "nec", "0.25", "2", "b", "1-2"]
    assert err == ""
    assert cli.run(["protocol", "ledger", "ledger.jsonl", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["lines"], told["faults"], len(told["sets"])) == (2, [], 1)
    kept = tmp_path / "ledger.jsonl"
    kept.write_text(kept.read_text().replace('"a":0.5', '"a":0.4'))
    assert cli.run(["protocol", "ledger", "ledger.jsonl", "--quiet"]) == 3
    assert (
        "error: ledger.jsonl, line 2: the hash of the line before it is not that of line 1"
        in capsys.readouterr().err
    )
    empty = tmp_path / "empty.jsonl"
    empty.touch()
    assert cli.run(["protocol", "ledger", "empty.jsonl"]) == 0
    assert "no scoring yet" in capsys.readouterr().err
    assert cli.run(["protocol", "ledger", "none.jsonl"]) == 3
    assert cli.run(["protocol", "ledger"]) == 2
    empty.write_bytes(encoded(msgspec.structs.replace(scoring(), number=1))[:-9])
    assert cli.run(["protocol", "ledger", "empty.jsonl"]) == 0
    assert "cut off" in capsys.readouterr().err
