"""Checks of splits: planted leaks fire with the right ids and lines, and clean splits do not."""

import re
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from truecost import advice
from truecost.core.weights import Plan
from truecost.errors import InputError, UsageError
from truecost.formats.table import Table
from truecost.protocol.checking import check
from truecost.protocol.findings import Division, role_of
from truecost.protocol.samples import samples_of
from truecost.protocol.sharing import families

FEW = Plan(200)


def table(rows, name="split.csv"):
    return Table(name, pl.DataFrame(rows), first_line=2)


def make(seed=0, sets=(("train", 60), ("dev", 30), ("eval", 100)), size=10, p=0.3, **more):
    """Samples of sets with whole speakers, some of whom have more of a class than others."""
    rng = np.random.default_rng(seed)
    names = np.repeat([name for name, count in sets for _ in range(count)], size)
    speakers = np.repeat([f"{name}{k}" for name, count in sets for k in range(count)], size)
    often = np.repeat(rng.beta(8 * p, 8 * (1 - p), sum(c for _, c in sets)), size)
    return {
        "id": [f"u{k}" for k in range(len(names))],
        "label": (rng.random(len(names)) < often).astype(int),
        "spk": speakers,
        "set": names,
        **{name: values(rng, len(names)) for name, values in more.items()},
    }


def read(rows, conditions=(), **columns):
    return samples_of(table(rows), {"group": "spk", "set": "set", **columns}, conditions)


def of(found, rule):
    return [finding for finding in found.findings if finding.rule == rule]


def test_a_clean_split_has_no_finding():
    found = check(read(make()), plan=FEW)
    assert found.findings == ()
    assert found.looked_at == ("groups (spk)", "classes")
    assert [(s.name, s.role, s.samples, s.groups["spk"]) for s in found.sets] == [
        ("train", "train", 600, 60),
        ("dev", "dev", 300, 30),
        ("eval", "eval", 1000, 100),
    ]


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.integers(1, 7), st.integers(2, 5))
def test_shared_groups_are_those_of_two_loops(seed, groups, sets):
    rng = np.random.default_rng(seed)
    size = 40
    rows = {
        "id": [f"u{k}" for k in range(size)],
        "spk": rng.integers(groups, size=size).astype(str),
        "set": rng.integers(sets, size=size).astype(str),
    }
    wanted = {}
    for k in range(size):
        wanted.setdefault(rows["spk"][k], {}).setdefault(rows["set"][k], k + 2)
    wanted = {spk: lines for spk, lines in wanted.items() if len(lines) > 1}
    if len(set(rows["set"])) < 2:
        return
    leaks = check(read(rows), plan=FEW).leaks
    assert sum(f.count for f in leaks) == len(wanted)
    for finding in leaks:
        assert {rows["spk"][r] for r in finding.rows} == set(wanted)
        for example in finding.examples:
            spk, _, said = example.partition(" (")
            first = min(wanted[spk].values())
            assert f"line {first};" in said


def test_a_group_on_both_sides():
    rows = make()
    rows["spk"][1500] = rows["spk"][3]  # of eval, lines 1502 and 5; its first is line 2
    [leak] = check(read(rows), plan=FEW).leaks
    assert (leak.rule, leak.count, leak.sets) == ("shared-groups", 1, ("train", "eval"))
    assert leak.examples == ("train0 (train, line 2; eval, line 1502)",)
    assert "--map id=ID,group=spk" in leak.message
    found = check(read(rows), shared=["spk"], plan=FEW)
    assert not found.leaks
    assert [f.kind for f in of(found, "shared-groups")] == ["note"]


def test_of_several_group_columns_each_is_looked_at():
    rows = make(session=lambda rng, n: [f"{k // 5}" for k in range(n)])
    rows["session"][0] = "399"
    found = check(read(rows, group="spk+session"), plan=FEW)
    assert [(f.rule, f.count) for f in found.leaks] == []
    rows["session"][0] = "300"
    [leak] = check(read(rows, group="spk+session"), plan=FEW).leaks
    assert leak.examples == ("300 (train, line 2; eval, line 1502)",)


def test_copies_by_content():
    rows = make(text=lambda rng, n: [f"text {k}" for k in range(n)])
    rows["text"][700], rows["text"][5] = "text 2", "text 4"
    found = check(read(rows, content="text"), plan=FEW)
    [leak] = found.leaks
    assert (leak.rule, leak.sets) == ("exact-copies", ("train", "dev"))
    assert leak.examples == ("u2 (train, line 4) = u700 (dev, line 702)",)
    [note] = of(found, "exact-copies")[1:]
    assert (note.kind, note.examples) == ("note", ("u5 (train, line 7) = u4 (line 6)",))


def test_copies_by_features():
    rows = make()
    features = np.random.default_rng(0).normal(size=(1900, 20))
    features[1000] = features[7]
    features[1200] = features[8] + 0.02
    found = check(read(rows), features=features, plan=FEW)
    exact, near = found.leaks
    assert exact.examples == ("u7 (train, line 9) = u1000 (eval, line 1002)",)
    assert near.rule == "near-copies"
    assert near.rows.tolist() == [8, 1200]
    [example] = near.examples
    assert example.startswith("u8 (train, line 10) and u1200 (eval, line 1202; 0.01")
    assert near.sets == ("train", "eval")
    features[601] = features[8] + 0.01  # of dev, and an exact copy of 1001: not counted again
    features[1001] = features[601]
    rows["set"][1200:1210] = "train"
    rows["spk"][1200:1210] = "train50"
    near = of(check(read(rows), features=features, plan=FEW), "near-copies")[0]
    assert near.rows.tolist() == [8, 1200]
    assert near.sets == ("train", "dev", "eval")
    exact_alone = check(read(rows), features=features, near=0, plan=FEW)
    assert [f.rule for f in exact_alone.leaks] == ["exact-copies"]


def test_few_features_prove_nothing():
    features = np.random.default_rng(0).normal(size=(1900, 2)).round(1)
    found = check(read(make()), features=features, plan=FEW)
    assert not found.leaks
    [exact] = [f for f in of(found, "exact-copies") if f.kind == "warning"]
    [near] = of(found, "near-copies")
    assert "too few to tell copies from others" in exact.message
    assert "unrelated pairs may be as near" in near.message
    assert near.kind == "warning"


def test_constant_features_are_told():
    features = np.random.default_rng(0).normal(size=(1900, 9))
    features[:, 3] = 1
    [note] = check(read(make()), features=features, plan=FEW).findings
    assert (note.kind, note.count) == ("note", 1)


def test_sources_across_sets_directly_and_over_others():
    rows = make(source=lambda rng, n: [None] * n)
    rows["source"][1000] = "u3"  # an augmented copy of a training sample
    rows["source"][650] = rows["source"][1100] = "tape7"  # chunks of a recording
    rows["source"][12], rows["source"][1300] = "u11", "u12"  # a copy of a copy
    rows["source"][20] = "u21"
    [leak] = check(read(rows, source="source"), plan=FEW).leaks
    assert (leak.rule, leak.count) == ("shared-sources", 3)
    assert leak.examples == (
        "u3 (train, line 5) and u1000 of u3 (eval, line 1002)",
        "u11 (train, line 13) and u1300 of u12 (eval, line 1302)",
        "u650 of tape7 (dev, line 652) and u1100 of tape7 (eval, line 1102)",
    )


def test_sources_in_a_circle_are_one_family():
    codes = families(np.array(["a", "b", "c", "d"]), np.array(["b", "c", "a", "d"]))
    assert codes[0] == codes[1] == codes[2] != codes[3]


def test_classes_and_conditions_that_a_side_lacks():
    rows = make(device=lambda rng, n: ["phone"] * n)
    rows["label"][900:] = 1
    rows["label"][1500] = 2
    rows["device"][1000] = "tablet"
    rows["device"][0] = ""
    rows["device"][1] = "radio"
    found = check(read(rows, ["device"]), plan=FEW)
    [learnt, measured] = of(found, "missing-classes")
    assert (learnt.examples, measured.examples) == (("2",), ("0",))
    assert "in eval and not in train" in learnt.message
    [learnt, measured] = of(found, "missing-conditions")
    assert (learnt.examples, measured.examples) == (("tablet",), ("radio",))
    lacking = [f for f in of(found, "dev-unlike-eval") if "that dev lacks" in f.message]
    assert [f.examples for f in lacking] == [("2",), ("tablet",)]
    assert lacking[1].message.startswith("eval has 1 level of device that dev lacks")
    rows["device"][1001] = "watch"
    found = check(read(rows, ["device"]), plan=FEW)
    assert any("2 levels of device that dev" in f.message for f in of(found, "dev-unlike-eval"))


def test_classes_that_folds_lack():
    rows = make(sets=(("1", 20), ("2", 20), ("3", 20)))
    rows["label"][0] = 7
    rows["label"][[1, 201]] = 8
    alone, rare = of(check(read(rows), plan=FEW), "missing-classes")
    assert (alone.examples, rare.examples) == (("7",), ("8",))


def test_dev_that_shares_speakers_with_train_where_eval_does_not():
    rows = make()
    rows["spk"][600:610] = "train5"
    found = check(read(rows), plan=FEW)
    [finding] = of(found, "dev-unlike-eval")
    assert finding.message.startswith("dev shares 1 spk with train (train5), and eval")
    rows["spk"][1000:1010] = "train6"
    assert not of(check(read(rows), plan=FEW), "dev-unlike-eval")


def test_prevalence_against_use_and_between_dev_and_eval():
    found = check(read(make(p=0.3)), prior=0.1, plan=FEW)
    [finding] = of(found, "prevalence-shift")
    assert finding.sets == ("eval",)
    assert "against 10% in use (95% intervals over 100 units (spk))" in finding.message
    assert re.search(r" with \d[\d.]*% \[[\d.]+%, [\d.]+%\] against 10%", finding.message)
    rows = make(p=0.3)
    rows["label"][600:900] = np.arange(300) % 10 > 0
    [finding] = of(check(read(rows), plan=FEW), "dev-unlike-eval")
    assert "1 class is not as frequent in dev as in eval" in finding.message
    three = make(sets=(("1", 40), ("2", 40)))
    three["label"] = np.arange(800) % 3
    use = {"0": 1 / 3, "1": 0.5, "2": 1 / 6}
    [finding] = of(check(read(three), priors=use, plan=FEW), "prevalence-shift")
    assert finding.sets == ("1", "2")
    assert [e.split()[0] for e in finding.examples] == ["1", "2"]
    assert (
        "(98.3333% intervals, 95% for the 3 classes together, over 80 units (spk))"
        in finding.message
    )
    rows["label"] = np.arange(1900) % 3
    rows["label"][600:900:2] = 0
    [finding] = of(check(read(rows), plan=FEW), "dev-unlike-eval")
    assert "(98.3333% intervals of the difference, 95% for the 3 classes " in finding.message


def test_few_groups_and_few_of_a_class():
    rows = make(sets=(("train", 30), ("eval", 19)))
    [finding] = check(read(rows), plan=FEW).findings
    assert (finding.rule, finding.kind, finding.count) == ("too-few-units", "warning", 19)
    rows = make(sets=(("1", 12), ("2", 12)))  # folds are pooled: 24 speakers
    rows["label"][:] = 0
    rows["label"][:9] = 1
    rows["label"][20:40] = 2
    [finding] = of(check(read(rows), plan=FEW), "too-few-units")
    assert finding.examples == ("1 (9 samples)", "2 (2 spks)")


def test_nobody_named_groups():
    found = check(samples_of(table(make()), {"set": "set"}), plan=FEW)
    [finding] = of(found, "no-groups-named")
    assert (finding.kind, finding.sets) == ("warning", ("train", "dev", "eval"))
    assert "groups (--map group=COLUMN)" in found.not_looked_at


def nested(folds=4):
    """A nested plan of 40 speakers: inner folds of each fold's rest."""
    rows = make(sets=tuple((f"{k}", 10) for k in range(1, folds + 1)))
    speakers = np.arange(len(rows["id"])) // 10
    for k in range(1, folds + 1):
        inside = rows["set"] == f"{k}"
        rows[f"inner_{k}"] = [
            None if i else f"{s % 3 + 1}" for i, s in zip(inside, speakers, strict=True)
        ]
    return rows


def test_inner_folds_are_checked_when_they_are_there():
    rows = nested()
    found = check(read(rows), plan=FEW)
    assert not found.leaks
    assert "inner folds" in found.looked_at
    rows["inner_2"][0] = "2"
    [leak] = check(read(rows), plan=FEW).leaks
    assert leak.message.startswith("inner folds of fold 2: 1 spk is in several sets")
    assert leak.examples == ("10 (fold 2, line 2; fold 1, line 3)",)
    assert not check(read(rows), nested=False, plan=FEW).leaks


def test_inner_folds_that_are_no_plan():
    rows = nested()
    rows["inner_1"][0] = "1"
    with pytest.raises(InputError, match=r"inner_1.*empty for samples of fold 1.*line 2"):
        check(read(rows))
    with pytest.raises(UsageError, match="no column inner_1, inner_2, inner_3, inner_4"):
        check(read({k: v for k, v in nested().items() if "inner" not in k}), nested=True)
    with pytest.raises(UsageError, match="there are no folds among the sets"):
        check(read(make()), nested=True)


def test_folds_beside_a_held_out_set():
    rows = make(sets=(("train", 60), ("eval", 40)))
    speakers = np.arange(1000) // 10
    rows["fold"] = [f"{s % 5}" if s < 60 else None for s in speakers]
    found = check(read(rows), plan=FEW)
    assert not found.leaks
    rows["fold"][3] = "1"
    [leak] = check(read(rows), plan=FEW).leaks
    assert leak.message.startswith("folds: 1 spk is in several sets")


def test_a_table_for_each_set():
    rows = pl.DataFrame(make())
    parts = {
        name: samples_of(
            Table(f"{name}.csv", rows.filter(pl.col("set") == name).drop("set"), first_line=2),
            {"group": "spk"},
        )
        for name in ("eval", "train")
    }
    found = check(parts, plan=FEW)
    assert not found.leaks
    assert [s.name for s in found.sets] == ["train", "eval"]
    twice = pl.concat([rows.filter(set="eval"), rows.filter(set="train").head(1)]).drop("set")
    parts["eval"] = samples_of(Table("eval.csv", twice, first_line=2), {"group": "spk"})
    groups, copies = check(parts, plan=FEW).leaks
    assert groups.examples == ("train0 (eval, eval.csv, line 1002; train, train.csv, line 2)",)
    assert copies.examples == ("u0 (eval, eval.csv, line 1002) = u0 (train, train.csv, line 2)",)


def test_neither_the_order_of_rows_nor_threads_change_what_is_found():
    rows = pl.DataFrame(make(text=lambda rng, n: rng.integers(900, size=n).astype(str)))
    features = np.random.default_rng(0).normal(size=(300, 15))
    features = features[np.random.default_rng(1).integers(300, size=len(rows))]
    features += 0.04 * np.random.default_rng(2).normal(size=features.shape)
    order = np.random.default_rng(3).permutation(len(rows))

    def found(frame, values, jobs):
        columns = {"group": "spk", "set": "set", "content": "text"}
        read = samples_of(Table("t.csv", frame, first_line=2), columns)
        done = check(read, features=values, prior=0.1, plan=FEW, jobs=jobs)
        return done, [(f.rule, f.kind, f.sets, f.count) for f in done.findings]

    one, told = found(rows, features, 1)
    assert found(rows, features, 3)[0].to_dict() == one.to_dict()
    assert found(rows[order], features[order], 2)[1] == told


def test_clean_splits_give_few_false_alarms():
    """Of 100 clean splits: no near copies; the share of a class outside its interval in about 5."""
    fired = Counter()
    for seed in range(100):
        rows = make(seed, sets=(("train", 30), ("eval", 100)), size=4)
        mix = np.random.default_rng(seed).normal(size=(30, 30))
        features = np.random.default_rng(seed + 1000).normal(size=(520, 30)) @ mix
        found = check(read(rows), prior=0.3, features=features, plan=Plan(400))
        fired.update({finding.rule for finding in found.findings})
    assert set(fired) <= {"prevalence-shift"}
    assert 1 <= fired["prevalence-shift"] <= 12  # 5 +- 3 standard deviations


def test_every_rule_has_advice():
    rows = make(text=lambda rng, n: ["a"] * n, source=lambda rng, n: ["tape"] * n)
    rows["label"][:5] = 9
    found = check(read(rows, content="text", source="source"), prior=None, plan=FEW)
    used = {finding.rule for finding in found.findings}
    assert used >= {"exact-copies", "shared-sources", "missing-classes", "too-few-units"}
    others = {"shared-groups", "near-copies", "missing-conditions", "prevalence-shift"}
    others |= {"dev-unlike-eval", "no-groups-named", "split-changed"}
    assert used | others <= set(advice.RULES)


@pytest.mark.parametrize(
    ("name", "role"),
    [("train", "train"), ("Training", "train"), ("valid", "dev"), ("val", "dev"), ("test", "eval"),
     ("EVAL", "eval"), ("development", "dev"), ("3", "fold"), ("test-other", "fold")],
)  # fmt: skip
def test_roles(name, role):
    assert role_of(name) == role


def test_folds_are_in_the_order_of_their_numbers():
    assert Division.from_labels(np.array(["10", "9", "2", None])).names == ("2", "9", "10")
    assert Division.from_labels(np.array(["x", "test", "train"])).names == ("train", "test", "x")


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"prior": 1.0}, UsageError, "above 0 and below 1"),
        ({"prior": 0.1, "priors": {"0": 1}}, UsageError, "keep one of them"),
        ({"target": "1"}, UsageError, "needs prior"),
        ({"prior": 0.1, "target": "x"}, UsageError, "there is no class 'x': use target=0 or"),
        ({"priors": {"0": 0.5}}, UsageError, "lacks 1"),
        ({"priors": {"0": 0.5, "1": 0.4}}, UsageError, "sum to 0.9"),
        ({"priors": {"0": 1.5, "1": -0.5}}, UsageError, "at least 0 and at most 1"),
        ({"priors": {"0": 0.5, "2": 0.5}}, UsageError, "'2', which is not a class"),
        ({"shared": ["spl"]}, UsageError, "did you mean 'spk'"),
        ({"near": 1.0}, UsageError, "at least 0 and below 1"),
        ({"features": np.ones((3, 2))}, InputError, "one row for each of 1900 samples"),
        ({"files": "wav"}, UsageError, "there is no column 'wav'.*files"),
        ({"files": "id"}, InputError, r"1900 files of files id cannot be found: u0 \(line 2\)"),
    ],
)
def test_what_cannot_be_checked(options, error, said):
    with pytest.raises(error, match=said):
        check(read(make()), **options)


def test_paths_of_windows_are_told_from_files_that_are_not_there():
    rows = make(wav=lambda rng, n: [f"clips\\{k}.wav" for k in range(n)])
    with pytest.raises(InputError, match=r"folder; \\ separates folders on Windows only: write /"):
        check(read(rows), files="wav")


def test_labels_that_are_no_classes():
    rows = make()
    rows["label"] = np.arange(1900) / 7
    with pytest.raises(InputError, match="so it is not a class"):
        check(read(rows))


def test_sets_that_are_none():
    rows = make()
    with pytest.raises(UsageError, match="the column of the sets is not named"):
        check(samples_of(table(rows), {"group": "spk"}))
    rows["set"][:] = "eval"
    with pytest.raises(InputError, match=r"all samples are in one set \(eval"):
        check(read(rows))
    with pytest.raises(UsageError, match="there is one file"):
        check({"train": read(make())})
    with pytest.raises(UsageError, match="leave set out of the map"):
        check({"train": read(make()), "eval": read(make())})
    with pytest.raises(UsageError, match="a prior needs classes"):
        check(samples_of(table({"id": ["a", "b"], "set": ["1", "2"]}), {"set": "set"}), prior=0.1)
    three = make()
    three["label"][0] = 2
    with pytest.raises(UsageError, match="prior is for two classes, but there are 3"):
        check(read(three), prior=0.1)
