"""Near copies: exact for the limit, whatever the data; scaled features; features that are read."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from truecost.errors import InputError, UsageError
from truecost.formats.table import Table
from truecost.protocol.copies import Scaled, close_to_another
from truecost.protocol.samples import equal_rows, features_of, samples_of


def brute(features, codes, limit):
    """Which rows have a row of another code within the limit, and how far all pairs are apart."""
    scale = features.std(axis=0)
    kept = features[:, scale > 0] / scale[scale > 0]
    apart = np.sqrt(((kept[:, None, :] - kept[None, :, :]) ** 2).sum(axis=2) / 2 / kept.shape[1])
    other = (codes[:, None] != codes[None, :]) & (codes[:, None] >= 0) & (codes[None, :] >= 0)
    return (other & (apart <= limit)).any(axis=1), apart[other]


@st.composite
def clouds(draw):
    seed, rows = draw(st.integers(0, 2**32 - 1)), draw(st.integers(2, 300))
    dimensions, sets = draw(st.integers(1, 40)), draw(st.integers(1, 6))
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(draw(st.integers(1, 8)), dimensions))
    spread = draw(st.sampled_from([1e-9, 0.01, 0.05, 0.2, 1.0]))
    points = centres[rng.integers(len(centres), size=rows)]
    points = points + spread * rng.normal(size=points.shape)
    if draw(st.booleans()):
        points = points @ rng.normal(size=(dimensions, dimensions))
    if draw(st.booleans()):
        points[0] += 1e4  # an outlier
    if draw(st.booleans()):
        points = np.concatenate([points, np.full((rows, 1), 7.0)], axis=1)
    points *= draw(st.sampled_from([1e-150, 1.0, 1e150]))
    return points, rng.integers(-1, sets, size=rows), draw(st.sampled_from([0.001, 0.05, 0.3, 0.9]))


@given(clouds())
def test_near_copies_are_those_of_all_pairs(cloud):
    points, codes, limit = cloud
    wanted, apart = brute(points / np.abs(points).max(), codes, limit)
    if len(apart) and np.abs(apart - limit).min() < 1e-9:
        return  # rounding decides
    assert (close_to_another(Scaled.from_features(points), codes, limit) == wanted).all()


@settings(max_examples=10)
@given(st.integers(0, 2**32 - 1))
def test_neither_threads_nor_the_order_of_rows_matter(seed):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(20, 12))[rng.integers(20, size=3000)]
    points = points + 0.06 * rng.normal(size=points.shape)
    codes, order = rng.integers(4, size=3000), rng.permutation(3000)
    one = close_to_another(Scaled.from_features(points), codes, 0.05, jobs=1)
    assert 0 < one.sum() < 3000
    assert (close_to_another(Scaled.from_features(points), codes, 0.05, jobs=3) == one).all()
    other = close_to_another(Scaled.from_features(points[order]), codes[order], 0.05)
    assert (other == one[order]).all()


def test_passed_rows_are_not_asked_about_but_are_near_to_others():
    points = np.array([[0.0, 1.0], [0.0, 1.0], [5.0, -3.0], [9.0, 4.0]])
    passed = np.array([True, False, False, False])
    found = close_to_another(Scaled.from_features(points), np.array([0, 1, 0, 1]), 0.05, passed)
    assert found.tolist() == [False, True, False, False]


def test_every_sample_a_fold_of_its_own():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(700, 10))
    points[600] = points[5] + 0.001
    codes = np.arange(700)
    assert np.flatnonzero(close_to_another(Scaled.from_features(points), codes, 0.05)).tolist() == [
        5,
        600,
    ]


def test_more_features_than_are_turned_to_their_axes():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(90, 2100))
    points[70] = points[3] + 0.01 * rng.normal(size=2100)
    codes = np.arange(90) % 2
    assert np.flatnonzero(close_to_another(Scaled.from_features(points), codes, 0.05)).tolist() == [
        3,
        70,
    ]


def test_unrelated_samples_are_about_one_apart_whatever_the_number_of_features():
    rng = np.random.default_rng(1)
    for d in (4, 50, 400):
        values = Scaled.from_features(rng.normal(size=(400, d)) * rng.uniform(1, 1e6, d)).values
        apart = np.linalg.norm(values[:200] - values[200:], axis=1)
        assert np.sqrt(np.square(apart).mean()) == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize("d", [1, 3, 8])
def test_the_bound_of_chance_lies_above_what_chance_does(d):
    rng = np.random.default_rng(d)
    points = rng.normal(size=(2000, d)) @ rng.normal(size=(d, d))
    scaled, limit = Scaled.from_features(points), 0.3
    apart = np.linalg.norm(scaled.values[:1000, None, :] - scaled.values[None, 1000:, :], axis=2)
    near, bound = (apart <= limit).sum(), scaled.by_chance(1000 * 1000, limit)
    assert 0 < near <= bound < 40 * near


def test_constant_features_are_left_out():
    points = np.array([[1.0, 5.0, 0.0], [2.0, 5.0, 0.0], [4.0, 5.0, 0.0]])
    scaled = Scaled.from_features(points)
    assert (scaled.constant, scaled.values.shape) == (2, (3, 1))


@pytest.mark.parametrize(
    ("points", "said"),
    [
        ([[1.0, 2.0], [1.0, 2.0]], "all are constant"),
        ([[1.0, np.nan], [1.0, 2.0]], "row 0, column 1 is nan"),
        ([1.0, 2.0], "one row a sample"),
    ],
)
def test_features_from_which_nothing_can_be_told(points, said):
    with pytest.raises(InputError, match=said):
        Scaled.from_features(points)


@pytest.mark.parametrize("limit", [-0.1, 1.0, float("nan")])
def test_a_limit_that_is_none(limit):
    scaled = Scaled.from_features([[1.0], [2.0]])
    with pytest.raises(UsageError, match=r"near is .*: give a"):
        close_to_another(scaled, np.array([0, 1]), limit)


def test_equal_rows_share_a_code():
    codes = equal_rows(np.array([[0.0, 1.0], [2.0, 1.0], [-0.0, 1.0]]))
    assert codes[0] == codes[2] != codes[1]


def samples(rows=4, **columns):
    frame = pl.DataFrame({"id": [f"u{k}" for k in range(rows)], **columns})
    return samples_of(Table("samples.csv", frame, first_line=2), {})


def test_features_are_columns_by_name_or_pattern():
    given = samples(f1=["1", "2", "3", "4"], f2=[5.0, 6, 7, 8], g=[0, 0, 1, 1])
    assert features_of(given, "f*").tolist() == [[1, 5], [2, 6], [3, 7], [4, 8]]
    assert features_of(given, "g,f1").tolist() == [[0, 1], [0, 2], [1, 3], [1, 4]]


def test_a_pattern_leaves_out_what_is_no_feature(tmp_path):
    """`fold` as a feature of f* would keep copies in several folds apart, and so hide them."""
    columns = {"utt": ["a", "b"], "fold": [1, 2], "f_spk": [3, 4], "inner_1": [1, 1], "f1": [5, 6]}
    table = Table("t.csv", pl.DataFrame(columns), first_line=2)
    given = samples_of(table, {"id": "utt", "set": "fold", "group": "f_spk"})
    assert features_of(given, "f*").tolist() == [[5], [6]]
    assert features_of(given, "*1,fold").tolist() == [[5, 1], [6, 2]]
    with pytest.raises(UsageError, match="inner_"):
        features_of(given, "inner_*")
    pl.DataFrame({"utt": ["b", "a"], "fold": [2, 1], "f1": [6, 5]}).write_csv(tmp_path / "f.csv")
    assert features_of(given, str(tmp_path / "f.csv")).tolist() == [[5], [6]]


def test_features_of_a_file_are_joined_by_id_or_by_position(tmp_path):
    path, matrix = tmp_path / "f.npz", np.arange(8.0).reshape(4, 2)
    np.savez(path, X=matrix)
    assert (features_of(samples(), str(path)) == matrix).all()
    np.savez(path, X=matrix, id=np.array(["u3", "u2", "u1", "u0"]))
    assert (features_of(samples(), str(path)) == matrix[::-1]).all()
    table = tmp_path / "f.csv"
    table.write_text("id,a,name\nu1,1,x\nu0,0,x\nu2,2,x\nu3,3,x\n")
    assert features_of(samples(), str(table)).tolist() == [[0], [1], [2], [3]]


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ("h*", UsageError, "neither a file nor a column"),
        ("words", UsageError, "did you mean 'word'"),
        ("missing.npz", InputError, "there is no such file"),
        (",", UsageError, "names no column"),
        ("f1", InputError, r"1 feature is empty or not finite: line 3 \(f1\)"),
        ("word", InputError, "not numbers"),
    ],
)
def test_features_that_cannot_be_read(given, error, said):
    one = samples(f1=["1", "", "3", "4"], word=["a", "b", "c", "d"])
    with pytest.raises(error, match=said):
        features_of(one, given)


@pytest.mark.parametrize(
    ("arrays", "error", "said"),
    [
        ({"X": np.ones((3, 2))}, InputError, "3 rows of features for 4 samples"),
        ({"X": np.ones((4, 2)), "Y": np.ones((4, 2))}, UsageError, "several arrays"),
        (
            {"X": np.ones((3, 2)), "id": np.array(["u0", "u1", "u2"])},
            InputError,
            "no features of 1 sample of samples.csv: u3",
        ),
        (
            {"X": np.ones((4, 2)), "id": np.array(["u0", "u1", "u2", "u2"])},
            InputError,
            "1 id occurs more than once",
        ),
        ({"X": np.array([[1, np.inf]] * 4)}, InputError, "4 features are empty or not finite"),
    ],
)
def test_files_of_features_that_do_not_match(tmp_path, arrays, error, said):
    np.savez(tmp_path / "f.npz", **arrays)
    with pytest.raises(error, match=said):
        features_of(samples(), str(tmp_path / "f.npz"))


def test_a_table_of_features_without_ids(tmp_path):
    (tmp_path / "f.csv").write_text("a,b\n1,2\n")
    with pytest.raises(UsageError, match="which names the sample"):
        features_of(samples(), str(tmp_path / "f.csv"))
