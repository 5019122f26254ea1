"""Logs of AB/BA that call their models and their labels in words of their own."""

import pytest

import truecost as tc
from truecost import cli

HEAD = "id,model,score_a,score_b,label,who\n"
ITEMS = [(k, "AB"[k % 2], 0.6 + k % 3 / 10, 0.5 + k % 5 / 10, k % 4 > 0, k // 4) for k in range(80)]
HOW = {
    "task": "abba", "collected_by": "model", "unit": "who", "threshold_a": 0.5,
    "threshold_b": 0.5, "replicates": 20,
}  # fmt: skip


def log(path, models=("A", "B"), labels=("0", "1")):
    rows = [
        f"i{k},{models['AB'.index(arm)]},{a:g},{b:g},{labels[true]},u{who}\n"
        for k, arm, a, b, true, who in ITEMS
    ]
    path.write_text(HEAD + "".join(rows))
    return str(path)


def test_models_and_labels_in_other_words(tmp_path, capsys):
    plain = tc.score(log(tmp_path / "log.csv"), **HOW)
    (tmp_path / "other").mkdir()
    path = log(tmp_path / "other" / "log.csv", ("prod", "cand"), ("wrong", "right"))
    found = tc.score(path, a="prod", b="cand", target="right", **HOW)
    assert [e.value for e in found.estimates] == [e.value for e in plain.estimates]
    flags = ["--a", "prod", "--b", "cand", "--target", "right", "--replicates", "20"]
    mapped = [
        "--map",
        "collected_by=model,unit=who",
        "--threshold-a",
        "0.5",
        "--threshold-b",
        "0.5",
    ]
    assert cli.run(["abba", "score", path, *mapped, *flags, "--no-advice"]) == 0
    assert "rrecall" in capsys.readouterr().out
    study = {
        "task": "abba", "systems": {"log": {"file": path}}, "interval": {"replicates": 20},
        "data": {"a": "prod", "b": "cand", "target": "right", "threshold_a": 0.5,
                 "threshold_b": 0.5, "map": {"collected_by": "model", "unit": "who"}},
    }  # fmt: skip
    assert [e.value for e in tc.run(study).estimates] == [e.value for e in plain.estimates]


def test_yes_and_no_need_no_target(tmp_path):
    plain = tc.score(log(tmp_path / "log.csv"), **HOW)
    path = log(tmp_path / "said.csv", ("prod", "cand"), ("no", "yes"))
    for target in ({}, {"target": "yes"}):
        found = tc.score(path, a="prod", b="cand", **target, **HOW)
        assert [e.value for e in found.estimates] == [e.value for e in plain.estimates]


def test_users_and_labels_beside_the_log(tmp_path):
    path = log(tmp_path / "log.csv", ("prod", "cand"), ("", ""))
    users = "who,model\n" + "".join(f"u{k},{m}\n" for k in range(25) for m in ("prod", "cand"))
    (tmp_path / "users.csv").write_text(users)
    labels = "id,label\n" + "".join(f"i{k},{int(true)}\n" for k, *_, true, _ in ITEMS)
    (tmp_path / "labels.csv").write_text(labels)
    beside = {"users": tmp_path / "users.csv", "labels": tmp_path / "labels.csv"}
    words = {"a": "prod", "b": "cand", "target": "yes"}  # people filled in 1 and 0
    assert tc.score(path, **beside, **words, **HOW).estimates[0].value is not None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({}, r"collected by neither A nor B .*a=NAME b=NAME"),
        ({"a": "prod"}, "the name of one model is given: give both a and b"),
        ({"a": "prod", "b": "prod"}, "a and b are both 'prod': name two models"),
        ({"a": "prod", "b": "cnd"}, r"by 'cnd' \(did you mean 'cand'\?\); column 'model' has"),
        (
            {"a": "prod", "b": "cand", "target": "yess"},
            r"no item has the label 'yess' \(did you mean 'yes'\?\); column 'label' has no, yes",
        ),
    ],
)
def test_words_that_do_not_occur_are_refused(words, said, tmp_path):
    path = log(tmp_path / "log.csv", ("prod", "cand"), ("no", "yes"))
    with pytest.raises(tc.TruecostError, match=said):
        tc.score(path, **words, **HOW)
