"""Simultaneous comparisons: against slow versions, laws of boards, and what they claim wrongly."""

import json
import time

import msgspec
import numpy as np
import pytest
from scipy.special import ndtr, ndtri, stdtrit

import boards
import truecost as tc
from truecost import cli
from truecost.core.comparison import compare
from truecost.core.leaderboard import Contrasts, beaten, marked, standings, step_down

LEVEL = 0.95


@pytest.fixture(scope="module")
def template():
    return boards.template()


def case(seed, systems=5, replicates=60):
    """Contrasts of all pairs of some systems, and the replicates of the systems."""
    rng = np.random.default_rng(seed)
    values = rng.normal(0, 2, systems)
    replicates = values[:, None] + rng.normal(0, 0.6, (systems, replicates))
    first, second = np.triu_indices(systems, 1)
    se = rng.uniform(0.4, 1.0, len(first)) * (rng.random(len(first)) > 0.1)
    nu, lift = rng.uniform(2, 40, len(first)), np.full(len(first), np.sqrt(12 / 11))
    value = values[first] - values[second]
    return Contrasts(value, se, nu, lift), replicates, (first, second)


def limit(q, nu, lift, tail):
    """c, never below that of one difference alone."""
    return stdtrit(nu, ndtr(max(q * lift, ndtri(tail))))


def slow_step_down(family, centred):
    """Romano and Wolf's steps in plain loops: take out what holds until nothing more does."""
    count, replicates = centred.shape
    t = np.zeros_like(centred)
    for k in range(count):
        for b in range(replicates):
            if family.se[k] > 0:
                t[k, b] = abs(centred[k, b]) / family.se[k]
    held, left = set(), set(range(count))
    while left:
        q = np.quantile([max(t[k, b] for k in left) for b in range(replicates)], LEVEL)
        new = {
            k
            for k in left
            if abs(family.value[k])
            > limit(q, family.nu[k], family.lift[k], (1 + LEVEL) / 2) * family.se[k]
        }
        if not new:
            break
        held, left = held | new, left - new
    return [k in held for k in range(count)]


def slow_beaten(family, replicates, pairs):
    """Hsu's comparison with the best in plain loops."""
    systems = len(replicates)
    about = {}
    for k, (i, j) in enumerate(zip(*pairs, strict=True)):
        about[i, j] = family.value[k], family.se[k], family.nu[k], family.lift[k]
        about[j, i] = -family.value[k], *about[i, j][1:]
    found = []
    for i in range(systems):
        others = [j for j in range(systems) if j != i and about[i, j][1] > 0]
        highest = []
        for b in range(replicates.shape[1]):
            t = [0.0]
            for j in others:
                value, se, *_ = about[i, j]
                t.append((replicates[i, b] - replicates[j, b] - value) / se)
            highest.append(max(t))
        q = np.quantile(highest, LEVEL)
        found.append(
            any(about[i, j][0] > limit(q, *about[i, j][2:], LEVEL) * about[i, j][1] for j in others)
        )
    return found


@pytest.mark.parametrize("block", [7, 4_000_000])
@pytest.mark.parametrize("seed", range(25))
def test_step_down_and_best_agree_with_plain_loops(seed, block, monkeypatch):
    monkeypatch.setattr("truecost.core.leaderboard.CELLS", block * 60)
    family, replicates, pairs = case(seed)
    centred = replicates[pairs[0]] - replicates[pairs[1]] - family.value[:, None]
    fast = step_down(family, lambda some: centred[some], replicates.shape[1], LEVEL)
    assert fast.tolist() == slow_step_down(family, centred)
    square = family.square(*pairs, len(replicates))
    assert beaten(square, replicates, LEVEL).tolist() == slow_beaten(family, replicates, pairs)


def test_the_cases_tell_the_two_from_single_tests():
    """Some differences hold alone and not together, and some systems are beaten only so."""
    alone = together = 0
    for seed in range(25):
        family, replicates, pairs = case(seed)
        centred = replicates[pairs[0]] - replicates[pairs[1]] - family.value[:, None]
        held = step_down(family, lambda some, c=centred: c[some], replicates.shape[1], LEVEL)
        alone += int((family.scores > ndtri((1 + LEVEL) / 2)).sum())
        together += int(held.sum())
    assert 0 < together < alone


def test_undefined_differences_hold_never():
    family, replicates, pairs = case(3)
    family.value[:] = np.nan
    square = family.square(*pairs, len(replicates))
    assert not step_down(family, lambda some: np.full((len(some), 60), np.nan), 60, LEVEL).any()
    assert not beaten(square, replicates, LEVEL).any()


# ---- boards ----


def board_of(template, shifts, units=40, seed=0, method="auto", **more):
    rng = np.random.default_rng(seed)
    errors, size = boards.drawn(rng, shifts, units, **more)
    weights = boards.weights_of(rng, units)
    return boards.rows_of(errors, size, weights, template, method)


def claims(board):
    """What a board says of each system."""
    return {
        s.system: (s.rank, s.place_lower, s.place_upper, s.may_be_best, s.verdict) for s in board
    }


def test_the_order_of_systems_changes_nothing(template):
    rows = board_of(template, [0, 0, 0.03, 0.06, 0.1, 0.1], 60)
    assert len({s.rank for s in standings(rows)}) > 1
    for seed in range(3):
        turned = np.random.default_rng(seed).permutation(len(rows))
        assert claims(standings([rows[k] for k in turned])) == claims(standings(rows))


def test_which_way_is_better_changes_nothing(template):
    rows = board_of(template, [0, 0, 0.03, 0.06, 0.1, 0.1], 60, method="percentile")
    turned = [
        msgspec.structs.replace(
            r, direction="higher", point=-r.point, value=-r.value, replicates=-r.replicates
        )
        for r in rows
    ]
    assert claims(standings(turned)) == claims(standings(rows))


def test_identical_systems_share_rank_place_and_claims(template):
    rows = board_of(template, [0, 0.05, 0.1, 0.1], 60)
    twins = [msgspec.structs.replace(r, dims={"system": f"{r.dims['system']}x"}) for r in rows]
    found = claims(standings([*rows, *twins]))
    for row in rows:
        name = row.dims["system"]
        assert found[name][:4] == found[f"{name}x"][:4]


def test_no_system_of_a_tie_group_is_worse_than_another(template):
    """Ranks rise along every claim, and the places agree with them."""
    for seed in range(10):
        board = standings(board_of(template, np.linspace(0, 0.12, 8), 30, seed))
        for line in board:
            assert line.place_lower == line.rank <= line.place_upper
            assert sum(other.place_upper < line.rank for other in board) <= line.rank - 1
            if line.rank > 1:
                assert line.may_be_best is False
        assert all(line.rank == 1 or line.rank > board[0].rank for line in board)


def test_undefined_values_stand_behind(template):
    rows = board_of(template, [0, 0.1, 0.1], 60)
    nothing = np.full_like(rows[0].replicates, np.nan)
    rows[1] = msgspec.structs.replace(
        rows[1], point=float("nan"), value=None, lower=None, upper=None, replicates=nothing,
        left_out=(), n_undefined=len(nothing),
    )  # fmt: skip
    board = standings(rows)
    last = board[-1]
    assert (last.system, last.rank, last.place_lower, last.may_be_best) == ("s01", 3, None, None)
    assert board[0].place_upper <= 2


@pytest.mark.parametrize("method", [pytest.param("auto", marks=pytest.mark.long), "percentile"])
def test_twelve_equal_systems_are_one_tie_group(template, method):
    """Worse than the first, or than any: rarely; the intervals alone say so in most boards."""
    rng, runs = np.random.default_rng(5), 60
    weights = boards.weights_of(rng, 40)
    wrong = alone = dropped = 0
    for _ in range(runs):
        errors, size = boards.drawn(rng, np.zeros(12), 40)
        rows = boards.rows_of(errors, size, weights, template, method)
        board = standings(rows)
        first = next(r for r in rows if r.dims["system"] == board[0].system)
        wrong += any(s.rank > 1 for s in board)
        alone += any(compare(r, first).verdict == "worse" for r in rows if r is not first)
        dropped += sum(s.may_be_best is False for s in board)
        marks = {s.system for s in board if s.alone}
        assert all(s.verdict == "inconclusive" for s in board if s.alone)
        assert marks == {
            r.dims["system"]
            for r in rows
            if r is not first and compare(r, first).verdict == "worse"
        } - {s.system for s in board if s.verdict == "worse"}
    assert wrong <= 0.1 * runs  # .05 and two standard errors
    assert alone >= 0.5 * runs
    assert dropped <= 0.09 * runs * 12


def test_a_better_system_is_found(template):
    """One of .06 among .10 to .12 with 100 units."""
    rng, runs, found = np.random.default_rng(6), 30, []
    shifts, weights = [-0.04, *[0] * 5, *[0.02] * 6], boards.weights_of(rng, 100)
    for _ in range(runs):
        errors, size = boards.drawn(rng, shifts, 100)
        board = standings(boards.rows_of(errors, size, weights, template))
        assert board[0].system == "s00"
        found.append((np.mean([s.rank > 1 for s in board[1:]]), sum(s.may_be_best for s in board)))
    power, left = np.mean(found, axis=0)
    assert power > 0.8
    assert left < 1.7


@pytest.mark.long
@pytest.mark.parametrize(
    ("units", "heavy"), [(12, False), (20, False), (40, False), (40, True), (100, False)]
)
@pytest.mark.parametrize(
    "shifts", [[0.0] * 12, [0.0] * 3, [0.0, 0.0, *[0.25] * 10]], ids=["12", "3", "2 of 12"]
)
def test_claims_are_rarely_wrong(template, units, heavy, shifts):
    """Family-wise error, and how often a given best system is dropped, over 1,000 boards."""
    rng, runs = np.random.default_rng([units, heavy, len(shifts)]), 1000
    best = {f"s{k:02}" for k, shift in enumerate(shifts) if shift == min(shifts)}
    weights = boards.weights_of(rng, units)
    wrong = dropped = 0.0
    for _ in range(runs):
        errors, size = boards.drawn(rng, shifts, units, heavy)
        board = standings(boards.rows_of(errors, size, weights, template))
        wrong += any(s.rank > 1 for s in board if s.system in best)
        dropped += np.mean([s.may_be_best is False for s in board if s.system in best])
    assert wrong <= 0.065 * runs
    assert dropped <= 0.065 * runs


def test_many_systems_do_not_take_long(template):
    """60 systems with 2,000 replicates: 1,770 pairs in about a second."""
    rng = np.random.default_rng(1)
    errors, size = boards.drawn(rng, np.linspace(0, 0.1, 60), 100)
    rows = boards.rows_of(errors, size, boards.weights_of(rng, 100, 2000), template)
    start = time.process_time()
    standings(rows)
    assert time.process_time() - start < 10


# ---- comparisons of one run ----


def differences(template, shifts, seed, units=60):
    """Each system against one more of the same error rate as the first."""
    first, *rows = board_of(template, [0.0, *shifts], units, seed)
    return [compare(row, first) for row in rows]


def flagged(found):
    return [k for k, c in enumerate(found) if "alone" in c.difference.flags]


def test_many_comparisons_mark_what_holds_alone(template):
    runs, single, together = 40, 0, 0
    for seed in range(runs):
        found = marked(differences(template, [0.0] * 10, seed))
        decided = {k for k, c in enumerate(found) if c.verdict in ("better", "worse")}
        marks = set(flagged(found))
        assert marks <= decided
        single += bool(decided)
        together += bool(decided - marks)
        assert all(found[k].difference.counts["compared"] == 10 for k in marks)
    assert single > 0.25 * runs
    assert together <= 0.12 * runs


def test_clear_differences_and_one_comparison_are_not_marked(template):
    assert flagged(marked(differences(template, [0.2] * 4, 0))) == []
    for seed in range(10):
        assert flagged(marked(differences(template, [0.0], seed))) == []
    assert marked([]) == []


def test_measures_are_families_of_their_own(template):
    """A clear difference in one measure does not help or harm another one."""
    found = differences(template, [0.0] * 10, 3)
    others = [
        tc.Comparison(
            *(c.system, c.baseline),
            msgspec.structs.replace(c.difference, measure="another"),
            c.ratio,
        )
        for c in found[:1]
    ]
    assert flagged(marked([*found, *others])) == flagged(marked(found))


# ---- as commands ----


@pytest.fixture
def study(tmp_path, monkeypatch):
    """Twelve systems of the same error rate, and how to read them."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    labels = np.arange(600) % 2
    key = "".join(f"t{k},{label},{k // 15}\n" for k, label in enumerate(labels))
    (tmp_path / "key.csv").write_text("id,label,spk\n" + key)
    for name in range(12):
        said = np.where(rng.random(600) < 0.1, 1 - labels, labels)
        rows = "".join(f"t{k},{one}\n" for k, one in enumerate(said))
        (tmp_path / f"s{name:02}.csv").write_text("id,score\n" + rows)
    systems = "".join(f'[systems.s{k:02}]\nfile = "s{k:02}.csv"\n' for k in range(12))
    text = (
        'measures = ["total_error"]\n[data]\nkey = "key.csv"\ntype = "decision"\n'
        f'map = {{ unit = "spk" }}\n[interval]\nreplicates = 500\n{systems}'
    )
    (tmp_path / "study.toml").write_text(text)
    return tmp_path


def run(capsys, *arguments):
    code = cli.run([*arguments])
    said = capsys.readouterr()
    assert code == 0, said.err
    return said.out, said.err


def test_equal_systems_on_a_board(study, capsys):
    out, err = run(capsys, "leaderboard", "--config", "study.toml", "-o", "board", "--no-advice")
    stored = json.loads((study / "board/result.json").read_text())["leaderboard"]
    assert {(s["rank"], s["place_lower"], s["place_upper"]) for s in stored} == {(1, 1, 12)}
    assert all(s["may_be_best"] for s in stored)
    lines = out.splitlines()
    assert "may be best" in lines[0]
    assert all("yes" in line for line in lines[1:13])
    assert all(line.startswith("columns left out, ") for line in lines[13:])  # for want of width
    assert "all pairs together" in err
    page = (study / "board/report.html").read_text()
    assert "share the first rank of 12 submissions" in page
    assert "beyond doubt" not in page + out + err


def test_chance_systems_on_a_board(study, capsys):
    """Scores that tell nothing: some rank targets lower by chance, which is no reason to refuse."""
    rng = np.random.default_rng(9)
    for name in range(12):
        rows = "".join(f"t{k},{one:.6f}\n" for k, one in enumerate(rng.normal(size=600)))
        (study / f"s{name:02}.csv").write_text("id,score\n" + rows)
    text = (study / "study.toml").read_text().replace('"decision"', '"score"')
    text = text.replace("total_error", "auc")
    (study / "study.toml").write_text(text)
    run(capsys, "leaderboard", "--config", "study.toml", "-o", "board", "--no-advice")
    stored = json.loads((study / "board/result.json").read_text())["leaderboard"]
    assert {s["rank"] for s in stored} == {1}
    assert len(stored) == 12


def test_subsets_that_hold_alone_are_marked_everywhere(study, capsys):
    text = (study / "study.toml").read_text()
    halves = '[subsets]\nlow = "spk < 20"\nhigh = "spk >= 20"\n'
    (study / "study.toml").write_text(f'baseline = "s00"\n{text}{halves}')
    out, err = run(capsys, "score", "--config", "study.toml", "-o", "out")
    rows = json.loads((study / "out/result.json").read_text())["rows"]
    found = [r for r in rows if r["kind"] == "difference"]
    single = [r for r in found if r["lower"] > 0 or r["upper"] < 0]
    marks = [r for r in found if "alone" in r["flags"]]
    assert len(found) == 11 * 3
    assert single == marks != []
    assert {r["counts"]["compared"] for r in marks} == {33}
    assert sum(line.endswith(", unadjusted") for line in out.splitlines()) == len(marks)
    assert "a difference marked unadjusted is significant by its own interval" in err
    assert "unadjusted" in (study / "out/report.html").read_text()
