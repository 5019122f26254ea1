"""Event logs of life cycles: counted as by hand in every state, refused where they are wrong."""

import copy
import gzip
import json
import re
from statistics import mean

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import truecost as tc
from lifecycles import course_of, live
from lifelogs import life, write
from truecost.errors import InputError, UsageError
from truecost.formats.events import Labels, read_events
from truecost.tasks.lifelong.counting import read_lifelong
from truecost.tasks.lifelong.log_events import findings_of
from truecost.tasks.lifelong.options import LifelongScoring
from truecost.tasks.lifelong.records import STATES
from truecost.tasks.lifelong.settings import Policy

PLAN = tc.Plan(50)


def read(tmp_path, events, kind="classes", **options):
    """A system from the events of one run."""
    return read_lifelong(write(tmp_path / "run.jsonl", events), kind, **options)


def edits(one, other):
    """Levenshtein distance of two lists, by the textbook."""
    row = [*range(len(other) + 1)]
    for i, a in enumerate(one, 1):
        last, row[0] = row[0], i
        for j, b in enumerate(other, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (a != b))
    return row[-1]


def by_hand(events, version, kind):
    """Mean over the times that a version has seen of each state's score, from the events alone."""
    told = [e for e in events if e.get("set") == "test" and e["version"] == version]
    said = {(e["phase"], e["id"]): e for e in told if e["event"] == "predict"}
    asked = {e["id"] for e in told if e["event"] == "answer"}
    first = min(e["t"] for e in events if "set" not in e and "t" in e)
    born = [e["t"] for e in events if "set" not in e and e["event"] == "adapt" and "t" in e]
    own = born[version - 1]
    found = {state: [] for state in STATES}
    for t in sorted({e["t"] for e in told}):
        if not first <= t <= own:
            continue
        names = sorted({e["id"] for e in told if e["t"] == t and "id" in e})
        sums = dict.fromkeys(STATES, 0)
        for name in names:
            before, after = said["pre", name], said.get(("post", name), said["pre", name])
            base, final = (errors(e, kind) for e in (before, after))
            worst, right = exchanged(before, kind) if name in asked else (base, base)
            for state, n in zip(STATES, (base, final, worst, right), strict=True):
                sums[state] += n
        size = sum(length(said["pre", name], kind) for name in names)
        for state in STATES:
            found[state].append(sums[state] / size)
    return {state: mean(values) for state, values in found.items()}


def errors(event, kind):
    if kind == "classes":
        return int(event["decision"] != event["label"])
    return edits(event["decision"].split(), event["label"].split())


def exchanged(event, kind):
    """Errors of an output made strictly wrong, and put in place."""
    if kind == "classes":
        return 1, 0
    return max(len(event["decision"].split()), len(event["label"].split())), 0


def length(event, kind):
    return 1 if kind == "classes" else len(event["label"].split())


def values_of(lifelong, measures, how=None):
    """Value by measure and version."""
    scoring = tc.Scoring(
        measures=measures, plan=PLAN, choices=how or LifelongScoring(every_version=True)
    )
    return {(r.measure, r.dims["version"]): r.value for r in tc.score_system(lifelong, scoring)}


@pytest.mark.parametrize("kind", ["classes", "transcripts"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_states_are_those_counted_by_hand(tmp_path, kind, seed):
    events = life(kind, versions=4, times=4, items=5, seed=seed)
    found = read(tmp_path, events, kind)
    measures = [f"{state}_score" for state in STATES] + ["penalised_score"]
    values = values_of(found, tuple(measures))
    for version in (2, 3):  # the window of version 1 is empty: it learnt at 0, tests begin at 0.5
        hand = by_hand(events, version, kind)
        for state in STATES:
            assert values[f"{state}_score", str(version)] == pytest.approx(hand[state])
        penalised = hand["adapted"] + hand["impaired"] - hand["corrected"]
        assert values["penalised_score", str(version)] == pytest.approx(penalised)
    assert values["base_score", "1"] is None


@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 1000),
    help_=st.integers(0, 4),
    versions=st.integers(2, 4),
    volunteer=st.booleans(),
)
def test_help_costs_what_the_share_of_corrected_items_is(
    tmp_path_factory, seed, help_, versions, volunteer
):
    """Of 0/1 errors each correction costs 1 / N, right or wrong: S_imp - S_cor = N_ann / N."""
    path = tmp_path_factory.mktemp("life")
    events = life(versions=versions, times=3, seed=seed, help_=help_, volunteer=volunteer)
    found = read(path, events)
    assert found.helped == bool(help_)
    rows = found.test.rows
    cost = found.test.statistics["classified"]["cost"]
    by_state = [cost[(rows["state"] == k).to_numpy()].sum() for k in range(4)]
    if not help_:
        assert by_state[1:] == [0, 0, 0]
        return
    asked = versions * 3 * help_
    assert by_state[2] - by_state[3] == asked
    assert found.test.effort["corrections"].sum() == asked
    assert found.test.effort["seconds"].sum() == pytest.approx(2.5 * asked)
    assert found.test.effort["words"].sum() == 2 * asked
    assert found.test.effort["actions"].sum() == 3 * asked


def test_what_a_log_tells(tmp_path):
    found = read(tmp_path, life(offline=2))
    assert found.versions == ("0", "1", "2")
    assert found.learnt.tolist() == [-np.inf, 0, 1]
    assert found.test.times == ("0.5", "1.5", "2.5")
    assert found.experts == ("ann",)
    assert found.seeds == ("",)
    assert found.problems == ()
    assert found.stream.times == ("0", "1")
    # On the data of l_i: what M_(i-1) said before, what M_i said after, under version i.
    assert sorted(set(found.stream.rows["version"])) == [1, 2]
    assert found.offline.to_dicts() == [
        {"seed": 0, "version": v, "answers": 2, "seconds": 2.0, "words": 2, "actions": 2}
        for v in (1, 2)
    ]
    assert len(found) == 12
    assert found.test.effort.height == 36
    final = found.test.effort["wrong"].sum()
    rows, cost = found.test.rows, found.test.statistics["classified"]["cost"]
    assert final == cost[(rows["state"] == 1).to_numpy()].sum()


def test_what_correcting_everything_would_take(tmp_path):
    found = read(tmp_path, life("transcripts"), "transcripts")
    effort = found.test.effort
    errors_ = found.test.statistics["words"]
    base = (found.test.rows["state"] == 0).to_numpy()
    wrong = sum(errors_[n][base] for n in ("substitutions", "deletions", "insertions"))
    assert effort["all_parts"].to_list() == [int(n > 0) for n in wrong]
    words = errors_["reference"][base] * (wrong > 0)
    assert effort["all_words"].to_list() == words.tolist()


def test_what_an_answer_does_not_say_is_that_of_the_whole_item(tmp_path):
    events = [
        {k: v for k, v in e.items() if k not in ("words", "actions", "active_seconds")}
        for e in life("transcripts")
    ]
    effort = read(tmp_path, events, "transcripts").test.effort
    helped = effort.filter(pl.col("corrections") > 0)
    assert helped["seconds"].null_count() == helped.height
    assert helped["words"].equals(helped["all_words"].alias("words"))
    assert effort.filter(pl.col("corrections") == 0)["seconds"].sum() == 0


def test_a_frozen_system_has_as_many_versions(tmp_path):
    """Where nothing adapts, every version says what the first one said."""
    found = read(tmp_path, life(frozen=True, help_=0))
    assert found.versions == ("0", "1", "2")
    rows, cost = found.test.rows, found.test.statistics["classified"]["cost"]
    by_version = [cost[(rows["version"] == v).to_numpy()] for v in range(3)]
    assert all((of == by_version[0]).all() for of in by_version)
    short = [e for e in life(frozen=True, help_=0) if e.get("set") != "test" or not e["version"]]
    short = [e | ({"version": 0} if "version" in e else {}) for e in short]
    short = [e for e in short if e.get("phase") != "post"]  # a log that never names version 1
    again = read(tmp_path, short)
    assert again.versions == found.versions
    assert again.learnt.tolist() == found.learnt.tolist()
    assert again.test.rows.equals(found.test.rows)
    assert (again.test.statistics["classified"]["cost"] == cost).all()


def test_versions_before_the_first_may_be_left_out(tmp_path):
    events = [e for e in life() if not (e.get("set") == "test" and e["version"] == 0)]
    found = read(tmp_path, events)
    assert found.versions == ("1", "2")
    assert found.learnt.tolist() == [0, 1]
    assert sorted(set(found.stream.rows["version"])) == [0, 1]
    values = values_of(found, ("policy_score",))
    assert (
        values["policy_score", "2"]
        == values_of(read(tmp_path, life()), ("policy_score",))["policy_score", "2"]
    )


def test_runs_are_counted_together(tmp_path):
    folder = tmp_path / "runs"
    folder.mkdir()
    for seed in (0, 1):
        write(folder / f"seed-{seed}.jsonl", life(seed=seed))
    found = read_lifelong(str(folder), "classes")
    assert found.seeds == ("seed-0", "seed-1")
    alone = [read_lifelong(str(folder / f"seed-{s}.jsonl"), "classes") for s in (0, 1)]
    both = found.test.statistics["classified"]["cost"]
    assert both.sum() == sum(one.test.statistics["classified"]["cost"].sum() for one in alone)
    one_file = [e for seed in (0, 1) for e in life(seed=seed, run=f"seed-{seed}")]
    named = read(tmp_path, one_file)
    assert named.seeds == found.seeds
    assert named.test.rows.equals(found.test.rows)
    assert (named.test.statistics["classified"]["cost"] == both).all()


def test_runs_of_other_life_cycles_are_refused(tmp_path):
    paths = [
        write(tmp_path / f"{name}.jsonl", life(seed=k, versions=k + 2))
        for k, name in enumerate("ab")
    ]
    with pytest.raises(
        InputError, match=r"a.jsonl.*the runs have different versions: 'a' 1 batch at"
    ):
        read_lifelong(paths, "classes")
    twice = life(run="one")
    paths = [write(tmp_path / f"{name}.jsonl", twice) for name in "cd"]
    with pytest.raises(InputError, match=r"run 'one' is in .*c.jsonl, .*d.jsonl: the events of a"):
        read_lifelong(paths, "classes")


def test_the_order_of_lines_of_a_batch_does_not_matter(tmp_path):
    events = life(help_=0)
    shuffled = [*events[3::-1], *events[4:]]  # the first items that are tested
    one, other = read(tmp_path, events), read(tmp_path, shuffled)
    assert one.test.rows.equals(other.test.rows)
    assert (
        one.test.statistics["classified"]["cost"] == other.test.statistics["classified"]["cost"]
    ).all()


@pytest.mark.parametrize("form", ["jsonl.gz", "parquet", "csv"])
def test_every_format_of_logs_is_read(tmp_path, form):
    events = life("transcripts")
    plain = write(tmp_path / "run.jsonl", events)
    path = str(tmp_path / f"run.{form}")
    frame = pl.DataFrame(events, infer_schema_length=None)
    if form == "jsonl.gz":
        with gzip.open(path, "wt") as file:
            file.write((tmp_path / "run.jsonl").read_text())
    elif form == "csv":
        frame.write_csv(path)
    else:
        frame.write_parquet(path)
    one, other = (read_lifelong(p, "transcripts") for p in (plain, path))
    assert one.test.rows.equals(other.test.rows)
    for part, of in one.test.statistics.items():
        for name, values in of.items():
            assert (values == other.test.statistics[part][name]).all()


def test_labels_and_further_right_outputs_of_files(tmp_path):
    events = life("transcripts")
    ids = {e["id"]: e["label"] for e in events if e["event"] == "predict"}
    bare = [{k: v for k, v in e.items() if (k, e["event"]) != ("label", "predict")} for e in events]
    with pytest.raises(InputError, match=r"12 items of the test set have no label: t0-0"):
        read(tmp_path, bare, "transcripts")
    frame = pl.DataFrame({"id": [*ids], "label": [*ids.values()], "speaker": [i[:2] for i in ids]})
    found = read(tmp_path, bare, "transcripts", labels=Labels("right.csv", frame))
    whole = read(tmp_path, events, "transcripts")
    assert found.test.items["speaker"].to_list() == [i[:2] for i in found.test.items["id"]]
    for name, values in whole.test.statistics["words"].items():
        assert (values == found.test.statistics["words"][name]).all()
    lost = Labels("right.csv", frame.filter(pl.col("id") != "t0-0"))
    with pytest.raises(InputError, match=r"right.csv: no label for 1 item of the test set"):
        read(tmp_path, bare, "transcripts", labels=lost)
    double = Labels("right.csv", pl.concat([frame, frame.head(1)]))
    with pytest.raises(InputError, match=r"right.csv: 1 id has several labels: t0-0"):
        read(tmp_path, bare, "transcripts", labels=double)
    other = Labels("other.csv", frame.with_columns(label=pl.lit("x")))
    assert any("12 items have another label" in p for p in read(
        tmp_path, events, "transcripts", labels=other
    ).problems)  # fmt: skip
    more = Labels("more.csv", frame.with_columns(label=pl.lit("the hat sat up")))
    easier = read(tmp_path, events, "transcripts", references=[more])
    errors_ = [r.test.statistics["words"]["substitutions"].sum() for r in (easier, whole)]
    assert errors_[0] < errors_[1]


def changed(events, at, **columns):
    """The events with one of them changed."""
    found = copy.deepcopy(events)
    found[at].update(columns)
    return found


def first(events, **wanted):
    """Place of the first event that has these columns."""
    return next(
        k for k, e in enumerate(events) if all(e.get(name) == v for name, v in wanted.items())
    )


def faults():
    """Logs that are wrong, and what is said of them."""
    events = life()
    pre = first(events, event="predict", version=1, set="test")
    last = first(events, event="predict", version=1, set="test", phase="post")
    adapt = first(events, event="adapt", version=1)
    stream = first(events, event="predict", version=1, batch=1, phase="pre", set=None)
    answer = first(events, event="answer", set="test", version=1)
    query = first(events, event="query", set="test", version=1)
    yield "no version", changed(events, pre, version=None), rf"line {pre + 1}.*has no version"
    yield "negative version", changed(events, pre, version=-1), rf"line {pre + 1}.*version.*-1"
    yield "no time", changed(events, pre, t=None), rf"line {pre + 1}.*'t0-0' has no time t"
    yield "no output", changed(events, pre, decision=None), rf"line {pre + 1}.*no decision"
    yield "two times", changed(events, pre + 1, t=7.0), rf"line {pre + 2}.*batch 0 of the test set"
    yield (
        "times fall",
        [e | {"t": -1.0} if e.get("batch") == 1 and "set" not in e else e for e in events],
        r"batch 1 of the lifelong set has time -1, which is not after 0",
    )
    ahead = first(events, event="predict", version=2, set="test", phase="pre")
    yield (
        "before it is",
        [events[ahead], *events[:ahead], *events[ahead + 1 :]],
        r"line 1.*by version 2, which is made later .line",
    )
    yield (
        "never was",
        [e | {"version": 9} if e.get("set") == "test" and e["version"] == 2 else e for e in events],
        r"by version 9, which is never made",
    )
    yield (
        "another batch",
        changed(events, adapt, version=5),
        r"version 5 is made by adapting to batch 0 of",
    )
    yield (
        "stale",
        changed(events, stream, version=0),
        r"by version 0, but the newest version is 1",
    )
    plain = life(help_=0)
    swap = {"t0-0": "t2-0", "t2-0": "t0-0"}
    yield (
        "in two batches",
        [e | {"id": swap.get(e.get("id"), e.get("id"))} if e.get("version") == 2 else e
         for e in plain],
        r"'t2-0' is in batch 0 of the test set, and in batch 2 of the test set \(line",
    )  # fmt: skip
    yield (
        "in both sets",
        [e | {"id": "t0-0"} if e.get("id") == "l1-0" else e for e in events],
        r"'t0-0' is in batch 0 of the lifelong set, and in batch 0 of the test set \(line 1\)",
    )
    yield (
        "twice",
        [*events[: pre + 1], events[pre], *events[pre + 1 :]],
        r"predicted twice in phase",
    )
    yield (
        "leak",
        [*events[:pre], *events[query : query + 2], *events[pre:query], *events[query + 2 :]],
        r"'t0-0' is predicted before adaptation \(phase pre\), but after the answer",
    )
    yield (
        "too late",
        [*events[:answer], *events[answer + 1 : last + 4], events[answer], *events[last + 4 :]],
        r"the answer about item 't0-0' comes after the predictions of its batch",
    )
    yield (
        "asked twice",
        [*events[: query + 1], events[query], *events[query + 1 :]],
        r"asked about tw",
    )
    yield (
        "missing item",
        [e for k, e in enumerate(events) if k != pre],
        r"version 1: 1 item of the test set have no output of this version: t0-0",
    )
    yield (
        "missing help",
        [e for k, e in enumerate(events) if k != last],
        r"version 1: 1 item of the test set have no output after the person's help",
    )
    yield (
        "other label",
        changed(events, pre, label="eel" if events[pre]["label"] != "eel" else "cat"),
        rf"line {pre + 1}: item 't0-0' has the label .*, but .* in .*line 1",
    )
    yield "unknown item", changed(events, answer, id="zz"), rf"line {answer + 1}.*about item 'zz'"
    yield "a part", changed(events, answer, part="1-2"), r"corrected as a whole"
    yield (
        "no test",
        [e for e in events if e.get("set") != "test"],
        r"there are no predictions on the te",
    )
    yield "no output", [e for e in events if e["event"] == "adapt"], r"there are no outputs"
    yield "in set offline", changed(events, stream, set="offline"), r"predicted in set offline"


@pytest.mark.parametrize(
    ("events", "said"), [f[1:] for f in faults()], ids=[f[0] for f in faults()]
)
def test_logs_that_are_wrong_are_refused(tmp_path, events, said):
    with pytest.raises(InputError, match=said) as error:
        read(tmp_path, events)
    assert "run.jsonl" in str(error.value)


def test_every_fault_is_listed(tmp_path):
    events = life()
    events[0]["t"] = 9.0
    events = [*events[:5], events[4], *events[5:]]
    log = read_events(write(tmp_path / "run.jsonl", events))
    assert len([f for f in findings_of(log) if f.state == "error"]) >= 2


def test_a_log_of_a_stream_is_refused(tmp_path):
    events = [{k: v for k, v in e.items() if k not in ("version", "set")} for e in life()]
    with pytest.raises(InputError, match="truecost streams score"):
        read(tmp_path, events)


@pytest.mark.parametrize("cut", [1, 2, 5, 9])
def test_a_killed_run_loses_its_last_version_and_says_so(tmp_path, cut):
    events = life()
    whole = read(tmp_path, events[: first(events, event="predict", batch=1, version=1, set=None)])
    assert whole.versions == ("0", "1")
    text = "".join(json.dumps(e) + "\n" for e in events[:-cut])
    path = tmp_path / "killed.jsonl"
    path.write_text(text + '{"event":"predict","ba')
    found = read_lifelong(str(path), "classes")
    assert found.versions == ("0", "1")
    assert any("cut short" in text for text in found.problems)
    assert any(re.search(r"version 2 is left out: .* \(the log ends there\)", t)
               for t in found.problems)  # fmt: skip
    assert found.test.rows.equals(whole.test.rows)
    assert found.stream.rows.equals(whole.stream.rows)


@pytest.mark.parametrize("batch", [0, 1, 2])
@pytest.mark.parametrize("asked", [1, 2, 3])
def test_a_run_killed_during_help_in_the_test_set_loses_that_version(tmp_path, batch, asked):
    events = life()
    where = {"set": "test", "version": 2, "batch": batch}
    found = read(tmp_path, events[: first(events, event="query", **where) + asked])
    assert found.versions == ("0", "1")
    assert any(re.search(r"version 2 is left out: .* \(the log ends there\)", text)
               for text in found.problems)  # fmt: skip


@pytest.mark.parametrize(
    ("phase", "said"),
    [
        ("pre", "version 2: 1 item of the test set have no output of this version"),
        ("post", "version 2: 1 item of the test set have no output after the person's help"),
    ],
)
def test_a_hole_in_the_last_version_is_no_end_of_the_log(tmp_path, phase, said):
    events = life()
    for batch in (0, 1):  # the test set goes on after it
        where = {"set": "test", "version": 2, "batch": batch}
        hole = first(events, event="predict", phase=phase, **where)
        with pytest.raises(InputError, match=said):
            read(tmp_path, [*events[:hole], *events[hole + 1 :]])


def test_a_run_killed_while_it_adapts_loses_that_batch(tmp_path):
    events = life()
    upto = first(events, event="predict", batch=1, version=1, set=None)
    found = read(tmp_path, events[: upto + 3])
    assert found.versions == ("0", "1")
    assert any("ends in batch 1 of the lifelong set" in text for text in found.problems)


def test_answers_that_say_only_wrong_cannot_be_penalised(tmp_path):
    found = read(tmp_path, life(verdict="wrong"))
    assert "18 answers give only a verdict" in found.no_penalty
    with pytest.raises(UsageError, match="nothing can be penalised: 18 answers give only"):
        values_of(found, ("penalised_score",))
    assert values_of(found, ("policy_score",))["policy_score", "2"] is not None
    assert read(tmp_path, life(verdict="right")).no_penalty == ""


def test_an_output_that_a_person_found_right_was_put_in_place(tmp_path):
    """Such an answer took no words, and counts as a correction that changes nothing but S_imp."""
    events = life(help_=4)  # all items of the test set
    labels = read(tmp_path, events).test
    said = [e | {"verdict": "right"} if e["event"] == "answer" else e for e in events]
    said = [{k: v for k, v in e.items() if (k, e["event"]) != ("label", "answer")} for e in said]
    found = read(tmp_path, said).test
    assert found.statistics["classified"]["cost"].tolist() == (
        labels.statistics["classified"]["cost"].tolist()
    )


def test_seconds_are_known_where_every_answer_has_them(tmp_path):
    """One answer without its time leaves the time of that item unknown, not too small."""
    events = _regions(("0-1", "3-4"))
    for answer in (e for e in events if e["event"] == "answer"):
        answer.update(words=1, actions=1, active_seconds=2.0 if answer["part"] == "0-1" else None)
    effort = read(tmp_path, events, "diarization").test.effort
    assert effort["seconds"].to_list() == [None, None]
    assert effort["words"].to_list() == [2, 2]


def test_outputs_after_adapting_without_help_are_counted(tmp_path):
    """On the lifelong set a version also speaks after it adapted, whoever helped."""
    found = read(tmp_path, life(help_=0))
    assert found.stream is not None
    assert set(found.stream.rows["state"]) == {0, 1, 2, 3}
    assert set(found.test.rows["state"]) == {0}


def test_test_data_of_one_time_may_be_in_batches_of_their_own(tmp_path):
    events = life(times=4)
    same = [e | {"t": 1.5} if e.get("set") == "test" and e.get("t") == 2.5 else e for e in events]
    assert read(tmp_path, same).test.times == ("0.5", "1.5", "3.5")


def test_a_person_who_errs_is_noted(tmp_path):
    events = life()
    at = first(events, event="answer", set="test")
    wrong = next(c for c in ("cat", "dog", "eel") if c != events[at]["label"])
    found = read(tmp_path, changed(events, at, label=wrong))
    assert any(text.startswith("1 answer of the person differ") for text in found.problems)


def test_a_question_without_an_answer_helps_nobody(tmp_path):
    events = life()
    at = first(events, event="answer", set="test")
    refused = changed(events, at, label=None)
    found = read(tmp_path, refused)
    assert found.test.effort["corrections"].sum() == 17


def test_initialisation_data_are_no_help(tmp_path):
    before = {"event": "answer", "set": "bootstrap", "count": 50, "t": 0.0, "expert": "labels"}
    found = read(tmp_path, [before, *life()])
    assert not found.offline.height
    assert read(tmp_path, [before, *life(offline=1)]).offline["answers"].to_list() == [1, 1]


def test_only_the_parts_that_are_asked_for_are_counted(tmp_path):
    found = read(tmp_path, life("translation"), "translation", parts=("edits",))
    assert set(found.test.statistics) == {"edits"}
    assert set(found.signatures) == {"edits"}


def test_policies_weigh_what_logs_tell(tmp_path):
    events = life(versions=4, times=4)
    found = read(tmp_path, events)
    how = LifelongScoring(policies=(Policy("recent", 1.0),), every_version=True)
    value = values_of(found, ("policy_score",), how)["policy_score", "3"]
    told = [e for e in events if e.get("set") == "test" and e.get("phase") == "pre"]
    told = [e for e in told if e["version"] == 3]
    sums = 0.0
    for t, weight in ((0.5, 1 / 3), (1.5, 2 / 3)):
        sums += weight * mean(e["decision"] != e["label"] for e in told if e["t"] == t)
    assert value == pytest.approx(sums)


REGIONS = [("0-1", "3-4"), ("0-2", "1-3"), ("0-1", "1-2")]  # the second pair shares time


@pytest.mark.parametrize("parts", REGIONS)
def test_regions_of_a_diarization(tmp_path, parts):
    """A fully corrected region R costs sum_R T max(Nref, Nsys) over sum T Nref (paper 004)."""
    events = _regions(parts)
    if parts == REGIONS[1]:
        with pytest.raises(InputError, match=r"item 'r': corrected regions overlap \('0-2', '1-3'"):
            read(tmp_path, events, "diarization")
        return
    found = read(tmp_path, events, "diarization")
    values = values_of(found, ("penalty", "base_score", "adapted_score"))
    assert values["base_score", "1"] == pytest.approx(1 / 6)
    assert values["adapted_score", "1"] == 0
    assert values["penalty", "1"] == pytest.approx(2 / 6)
    broken = changed(events, 2, part="later")
    with pytest.raises(InputError, match=r"line 3, item 'r': the region 'later'"):
        read(tmp_path, broken, "diarization")


def _regions(parts):
    """Two versions, of which a person puts regions of a recording right."""
    right, base = "0 4 ann|4 6 bob", "0 1 x|1 4 y|4 6 z"
    events = []
    for version in (0, 1):
        if version:
            events.append({"event": "predict", "phase": "pre", "id": "l", "t": 1.0, "batch": 0,
                           "version": 0, "decision": base, "label": right})  # fmt: skip
            events.append({"event": "adapt", "batch": 0, "t": 1.0, "version": 1})
        at = {"set": "test", "version": version, "batch": 0, "t": 1.0}
        events.append({"event": "predict", "phase": "pre", "id": "r", "decision": base,
                       "label": right, **at})  # fmt: skip
        for part in parts:
            about = {"id": "r", "part": part, **at}
            events += [{"event": "query", **about}, {"event": "answer", "label": "x", **about}]
        events.append({"event": "predict", "phase": "post", "id": "r", "decision": right,
                       "label": right, **at})  # fmt: skip
    return events


@pytest.mark.parametrize("kind", ["classes", "transcripts"])
def test_logs_of_the_loop_are_those_counted_by_hand(tmp_path, kind):
    path = tmp_path / "run.jsonl"
    live(path, course_of((3, 3, 3), (2, 2, 2), kind=kind))
    events = [json.loads(line) for line in path.read_text().splitlines()]
    found = read_lifelong(str(path), kind)
    assert found.problems == ()
    assert found.learnt.tolist() == [-np.inf, 1, 2, 3]
    values = values_of(found, tuple(f"{state}_score" for state in STATES))
    for version in (2, 3):
        hand = by_hand(events, version, kind)
        for state in STATES:
            assert values[f"{state}_score", str(version)] == pytest.approx(hand[state])


@pytest.mark.parametrize("made", ["helped", "alone", "loop"])
def test_a_log_cut_anywhere_keeps_its_whole_versions_or_is_refused(tmp_path, made):
    path = tmp_path / "run.jsonl"
    if made == "loop":
        live(path, course_of((2, 2), (2, 2)))
    else:
        write(path, life(items=2, times=2, help_=1 if made == "helped" else 0))
    lines = path.read_text().splitlines(keepends=True)
    whole = read_lifelong(str(path), "classes")
    sizes = set()
    for cut in range(1, len(lines)):
        path.write_text("".join(lines[:cut]))
        try:
            found = read_lifelong(str(path), "classes")
        except InputError:
            continue
        count = len(found.versions)
        sizes.add(count)
        assert found.versions == whole.versions[:count]
        if found.test.items.height < whole.test.items.height:
            assert count == 1  # the test set itself is not known yet
            continue
        kept = (whole.test.rows["version"] < count).to_numpy()
        if count == 1:  # whether the last test data were helped with is not known yet
            kept &= (whole.test.rows["state"] == 0).to_numpy()
            base = (found.test.rows["state"] == 0).to_numpy()
            assert (found.test.statistics["classified"]["cost"][base]
                    == whole.test.statistics["classified"]["cost"][kept]).all()  # fmt: skip
            continue
        assert found.test.rows.equals(whole.test.rows.filter(pl.Series(kept)))
        cost = whole.test.statistics["classified"]["cost"][kept]
        assert (found.test.statistics["classified"]["cost"] == cost).all()
    assert {1, 2} <= sizes


def test_help_with_the_lifelong_set_is_no_help_with_the_test_set(tmp_path):
    """Answers about the lifelong set are counted by no measure of help, which says so: no 0.0."""
    whole = life(help_=2)
    of_test = [e for e in whole if e.get("set") == "test"]
    left_out = [e for e in of_test if e["event"] != "predict" or e["phase"] == "post"]
    events = [e for e in whole if e not in left_out]
    assert sum(e["event"] == "answer" for e in events) == 4
    found = read(tmp_path, events)
    for name in ("help_seconds", "n_corrections", "offline_seconds"):
        with pytest.raises(UsageError, match=r"4 answers about the lifelong set.*cost_person"):
            tc.score_system(found, tc.Scoring(measures=(name,), plan=PLAN))
