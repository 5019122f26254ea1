"""Classes from the names of score columns: prefixes, patterns, and another order."""

import numpy as np
import polars as pl
import pytest

import truecost as tc
from truecost import cli
from truecost.formats.compound import fitting, without_prefix

CLASSES = ("cat", "dog", "eel")
LABELS = np.array(["cat", "dog", "eel"] * 5)


def table(prefix="p_"):
    sure = np.full((15, 3), 0.1)
    sure[np.arange(15), np.arange(15) % 3] = 0.8  # all right
    return pl.DataFrame(
        {"label": LABELS, **{prefix + c: sure[:, k] for k, c in enumerate(CLASSES)}}
    )


def errors(frame, **more):
    found = tc.score(frame, type="posterior", label="label", measures="total_error", **more)
    return found.rows[0].value, " ".join(p.message for p in found.problems)


def test_columns_with_a_prefix_are_the_classes():
    value, said = errors(table(), map={"score": "p_cat+p_dog+p_eel"})
    assert value == 0
    assert "classes by the names of the columns: p_cat=cat, p_dog=dog, p_eel=eel" in said


def test_a_pattern_takes_the_columns_in_their_order():
    assert errors(table(), map={"score": "p_*"})[0] == 0
    assert fitting("p_*", ["p_b", "x", "p_a"]) == ["p_b", "p_a"]
    assert fitting("q_*", ["p_b"]) == ["q_*"]  # and is refused with the columns that there are
    with pytest.raises(tc.UsageError, match=r"no column 'q_\*'"):
        errors(table(), map={"score": "q_*"})


def test_another_order_of_the_classes_is_told():
    value, said = errors(table(), map={"score": "p_*"}, classes=["dog", "cat", "eel"])
    assert value == pytest.approx(2 / 3)
    assert (
        "p_cat is read as the score of class dog; if that is wrong: --classes cat,dog,eel" in said
    )
    assert "order" not in errors(table(), map={"score": "p_*"}, classes=[*CLASSES])[1]


@pytest.mark.parametrize(
    ("columns", "present", "classes"),
    [
        (("p_10", "p_11"), ("10", "11"), ("10", "11")),  # all begin with `p_1`
        (("p_a", "p_b"), ("p_a",), ("p_a", "p_b")),  # labels are the names already
        (("p_a", "p_b"), ("a", "c"), ("p_a", "p_b")),  # no exact match: nothing is guessed
        (("x", "y"), ("a",), ("x", "y")),
    ],
)
def test_prefixes_are_taken_off_where_the_rest_is_the_labels(columns, present, classes):
    assert without_prefix(columns, present) == classes


def test_labels_that_are_no_classes_have_a_cure():
    with pytest.raises(tc.InputError, match="name the classes in the order of the scores"):
        errors(table("q_").rename({"q_eel": "q_ox"}), map={"score": "q_*"})


def test_rows_and_comparisons_are_one_line():
    right, wrong = table(), table().with_columns(p_cat=pl.lit(0.98), p_dog=pl.lit(0.01), p_eel=0.01)
    found = tc.compare(
        {"a": right, "b": wrong},
        type="posterior",
        map={"score": "p_*"},
        label="label",
        measures="total_error",
        replicates=100,
    )
    assert repr(found.rows[0]).startswith("<Row a: total_error 0.0% [")
    assert str(found.rows[0]).startswith("total_error 0.0% [")
    said = repr(found.comparisons[0])
    assert said.startswith("<b against a: total_error +67")
    assert said.endswith(", worse>")


@pytest.mark.parametrize(("wrong", "bold"), [(1, False), (15, True)])
def test_bold_is_what_is_decided(tmp_path, wrong, bold):
    other = table().with_columns(label=pl.Series(LABELS))
    cells = np.roll(other.select("p_cat", "p_dog", "p_eel").to_numpy(), 1, axis=1)
    own = other.select("p_cat", "p_dog", "p_eel").to_numpy()
    mixed = np.where(np.arange(15)[:, None] < wrong, cells, own)
    bad = other.with_columns(**{f"p_{c}": mixed[:, k] for k, c in enumerate(CLASSES)})
    systems = {"a": table(), "b": bad}
    asked = {"type": "posterior", "map": {"score": "p_*"}, "label": "label", "replicates": 100}
    found = tc.compare(systems, measures="total_error", **asked)
    assert ("textbf" in found.to_latex()) is bold
    found.save(tmp_path / "out")
    assert cli.run(["report", str(tmp_path / "out"), "--table", str(tmp_path / "t.tex")]) == 0
    text = (tmp_path / "t.tex").read_text()
    assert ("textbf" in text) is bold
    assert text.count("tabular") == found.to_latex().count("tabular") == 4  # with the comparison


@pytest.mark.parametrize(
    ("name", "ours"), [("log_loss", "ce"), ("ROC-AUC", "auc"), ("acc", "accuracy")]
)
def test_names_of_other_tools_are_hints(name, ours):
    with pytest.raises(tc.UsageError, match=f"did you mean '{ours}"):
        tc.find(name)
