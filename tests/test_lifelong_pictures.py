"""Pictures of life cycles: what is drawn is what is known, and can be read in awkward cases too."""

import numpy as np
import pytest
from msgspec import structs

import ageing
from drawn import HOSTILE, LONG, laws
from truecost.errors import UsageError
from truecost.pictures.frame import Frame
from truecost.pictures.svg import inline
from truecost.tasks.lifelong import pictures
from truecost.tasks.lifelong.curves import MOST, by_version, newest_cells
from truecost.tasks.lifelong.descriptions import CurvePoint, Figure, LearningCurve
from truecost.tasks.lifelong.pictures import SHADES, _rounded, helped

EVERY = (*ageing.STATES, "penalised")
DATES = [f"2024-{1 + k // 28:02}-{1 + k % 28:02}" for k in range(50)]


def marks_of(picture, *kinds):
    return [m for m in picture.marks if m.kind in kinds]


def texts_of(picture):
    """The numbers of its table, as numbers where they are such."""
    return [dict(zip(picture.numbers.header, row, strict=True)) for row in picture.numbers.rows]


# version by time


def test_a_better_score_is_never_darker():
    for direction in ("lower", "higher"):
        found = ageing.described(versions=9, times=9, direction=direction)
        cells = marks_of(pictures.score_matrix(found), "cell")
        values = {(c.version, c.time): c.value for c in found.cells}
        known = [values[found.versions[m.y], found.times[m.x]] for m in cells]
        order = np.argsort(known)[:: 1 if direction == "lower" else -1]
        tones = [cells[k].tone for k in order]
        assert tones == sorted(tones)
        assert (tones[0], tones[-1]) == (0, SHADES - 1)


@pytest.mark.parametrize(
    ("value", "width", "scale", "said"),
    [
        (0.12345, 0.4, "", "0.12"),
        (0.12345, 0.04, "", "0.123"),
        (0.12345, 0.4, "%", "12%"),
        (0.12345, 0.04, "%", "12.3%"),
        (27.6, 12, "", "27.6"),
        (0.04, 1, "", "0.04"),
        (-0.0001, 0.4, "", "0.00"),
        (0.5, 0, "", "0.50"),
        (0, 0, "", "0"),
    ],
)
def test_figures_of_cells_have_two_digits_of_half_the_range(value, width, scale, said):
    assert _rounded(value, width, scale) == said


def test_a_range_without_width_has_one_shade():
    found = ageing.described(versions=2, times=2)
    cells = [
        structs.replace(c, value=v) for c, v in zip(found.cells, (0.2, 0.2, None), strict=False)
    ]
    picture = pictures.score_matrix(structs.replace(found, cells=cells))
    assert picture.shades == ("20%",)
    assert {m.tone for m in marks_of(picture, "cell")} == {0}
    assert len(marks_of(picture, "cell")) == 2


@pytest.mark.parametrize("size", [3, 7, 20])
def test_every_cell_is_drawn_once(size):
    found = ageing.described(versions=size, times=size + 1, shown_in="")
    picture = pictures.score_matrix(found)
    drawn = {(m.y, m.x): m for m in marks_of(picture, "cell")}
    assert len(drawn) == len(marks_of(picture, "cell")) == len(found.cells)
    for cell in found.cells:
        mark = drawn[found.versions.index(cell.version), found.times.index(cell.time)]
        assert float(mark.text) == pytest.approx(cell.value, abs=0.006)
        assert f"version {cell.version} at {cell.time}: {cell.value:.3f}"[:-2] in mark.label
        assert ("not yet seen" in mark.label) == (not cell.seen)


def test_the_table_has_every_cell_with_its_interval():
    found = ageing.described(versions=4, times=4, shown_in="")
    rows = texts_of(pictures.score_matrix(found))
    for row, cell in zip(rows, found.cells, strict=True):
        assert (row["version"], row["test time"]) == (cell.version, cell.time)
        assert row[found.score] == found.text_of(cell)
        assert row["test data"] == ("seen" if cell.seen else "not yet seen")


def test_what_was_not_scored_is_left_empty_and_told():
    found = ageing.described(versions=4, times=4)
    picture = pictures.score_matrix(structs.replace(found, cells=found.cells[:-3]))
    assert len(marks_of(picture, "cell")) == 13
    assert picture.caption.endswith("Empty cells have no score.")
    assert "Empty" not in pictures.score_matrix(found).caption
    gap = pictures.score_matrix(ageing.described(gap=True))
    assert gap.caption == "Empty cells have no score."


def test_the_stairs_go_between_the_window_and_the_future():
    found = ageing.described(versions=3, times=3)  # times 1.5, 2, 2.5; learnt 1, 2
    [edge] = marks_of(pictures.score_matrix(found), "edge")
    assert edge.x.tolist() == [0, 0, 0, 0, 2, 2]  # version 2: 1.5 and 2 are seen, 2.5 is not
    assert edge.y.tolist() == [0, 1, 1, 2, 2, 3]


def test_times_before_all_windows_have_a_line_of_their_own():
    found = ageing.described(versions=4, times=4)
    cells = [structs.replace(c, seen=c.seen and c.time != found.times[0]) for c in found.cells]
    edges = marks_of(pictures.score_matrix(structs.replace(found, cells=cells)), "edge")
    assert [list(e.x) for e in edges][1] == [1, 1]
    assert list(edges[1].y) == [0, 4]
    assert list(edges[0].x[:2]) == [1, 1]


def test_without_a_future_there_are_no_stairs():
    found = ageing.described(versions=3, times=3)
    cells = [structs.replace(c, seen=True) for c in found.cells]
    picture = pictures.score_matrix(structs.replace(found, cells=cells))
    assert not marks_of(picture, "edge")
    assert not picture.key


def test_pictures_side_by_side_share_their_shades():
    mine, yours = ageing.described(), ageing.described("yours", versions=12)
    one = pictures.score_matrix(mine, beside=[yours])
    assert one.shades == pictures.score_matrix(yours, beside=[mine]).shades
    assert one.shades != pictures.score_matrix(mine).shades
    assert one.shades[0].endswith("(best)")


def test_both_states_share_their_shades():
    found = ageing.described(states=EVERY)
    base, penalised = (pictures.score_matrix(found, state=s) for s in ("base", "penalised"))
    assert base.shades == penalised.shades


def test_a_state_that_is_not_there_is_refused():
    found = ageing.described(states=("base",))
    with pytest.raises(UsageError, match="no cell is in the state 'penalised': draw one of base"):
        pictures.score_matrix(found, state="penalised")
    with pytest.raises(UsageError, match="no version was scored on a test time"):
        pictures.score_matrix(structs.replace(found, cells=[]))


def test_large_matrices_stay_small():
    picture = pictures.score_matrix(ageing.described(versions=50, times=70))
    assert len(marks_of(picture, "cell")) == MOST**2 == len(picture.numbers.rows)
    assert (picture.y.names[0], picture.y.names[-1]) == ("version 0", "version 49")
    assert "30 of 50 versions" in picture.caption
    assert "30 of 70 times" in picture.caption
    assert len(picture.svg()) < 250_000


# policies


def test_the_future_is_drawn_apart():
    found = ageing.described(shown_in="")
    cells = newest_cells(found)
    picture = pictures.policy_times(found)
    hollow = [m.y for m in marks_of(picture, "hollow")]
    assert hollow == [c.value for c in cells if not c.seen]
    assert [m.y for m in marks_of(picture, "dot")] == [c.value for c in cells if c.seen]
    dotted, line = marks_of(picture, "line")
    assert dotted.weak
    assert dotted.y.tolist() == [c.value for c in cells]
    assert np.isfinite(line.y).tolist() == [c.seen for c in cells]
    assert all("not yet seen" in m.label for m in marks_of(picture, "hollow"))


def test_the_band_of_a_version_holds_its_intervals():
    found = ageing.described(shown_in="")
    cells = newest_cells(found)
    [band] = marks_of(pictures.policy_times(found), "band")
    assert band.x.tolist() == found.at
    assert band.lo.tolist() == [c.lower for c in cells]
    assert band.hi.tolist() == [c.upper for c in cells]


def test_weights_stand_above_their_times():
    found = ageing.described(versions=6, times=6)
    picture = pictures.policy_times(found)
    for (name, edges, heights), policy in zip(picture.strip, found.policies, strict=True):
        assert name == policy.name
        assert heights[:-1].tolist() == policy.weights[-1]
        between = zip(edges, found.at, edges[1:], strict=False)
        assert all(left < at < right for left, at, right in between)
        assert (edges[0], edges[-1]) == picture.x.domain
    assert {p.name for p in found.policies} < {*picture.series}
    labels = [m.label for m in marks_of(picture, "dot")]
    assert f"weight recent:3 {found.policies[0].weights[-1][0]:.2g}, uniform" in labels[0]


def test_names_of_times_stand_below_them_where_they_are_no_numbers():
    found = ageing.described(versions=12, times=50, names=DATES)
    for width in (760, 344):
        place = Frame(pictures.policy_times(found), width).x
        assert 1 < len(place.texts) < 50
        named = dict(zip(found.at, DATES, strict=True))
        assert place.texts == [named[at] for at in place.ticks]
    numbered = pictures.policy_times(ageing.described())
    assert (numbered.x.names, numbered.x.ticks) == ((), ())
    assert 'data-x="linear' in inline(Frame(numbered, 760), "full", "k")
    assert 'data-x="linear' not in inline(Frame(pictures.policy_times(found), 760), "full", "k")


def test_names_of_columns_stay_inside():
    found = ageing.described(versions=4, times=50, names=DATES)
    for width in (760, 344):
        frame = Frame(pictures.score_matrix(found), width)
        shown = [d for d in DATES if f">{d}<" in inline(frame, "full", "k")]
        assert 2 < len(shown) < 12


def test_policies_of_the_strip_have_a_colour_and_a_place_in_the_legend():
    found = ageing.described()
    frame = Frame(pictures.policy_times(found), 760, ["mine"])
    names = [p.name for p in found.policies]
    assert [frame.colour(n) for n in ("mine", *names)] == ["s0", "c0", "c1", "c2"]
    assert [(e.text, e.kind) for e in frame.legend if e.text in names] == [
        (name, "line") for name in names
    ]


def test_versions_that_are_not_there_are_refused():
    found = ageing.described(versions=3)
    with pytest.raises(UsageError, match="there is no version"):
        pictures.policy_times(structs.replace(found, versions=[]))
    with pytest.raises(UsageError, match="no policy has a figure for any version"):
        pictures.policy_versions(structs.replace(found, policies=[]))


def test_scores_from_version_to_version_are_those_of_the_result():
    found = ageing.described(shown_in="", states=EVERY)
    picture = pictures.policy_versions(found)
    for policy in found.policies:
        own = by_version(policy, found)
        assert {f.measure for f in own.values()} == {"penalised_score"}
        frozen, line = (m for m in marks_of(picture, "line") if m.series == policy.name)
        known = [v for v in own if own[v].value is not None]
        assert [m.y for m in marks_of(picture, "dot") if m.series == policy.name] == [
            own[v].value for v in known
        ]
        assert frozen.weak
        assert frozen.y == pytest.approx(
            [np.nan if f.naive is None else f.naive for f in own.values()], nan_ok=True
        )
        assert len(line.x) == len(own)
    assert "initial version" in marks_of(picture, "dot")[0].label


def test_a_frozen_version_that_is_far_does_not_squeeze_the_others():
    found = ageing.described(shown_in="", states=EVERY)
    own = pictures.policy_versions(found).y.domain
    far = [
        structs.replace(p, figures=[structs.replace(f, naive=9.0) for f in p.figures])
        for p in found.policies
    ]
    domain = pictures.policy_versions(structs.replace(found, policies=far)).y.domain
    assert domain[1] <= own[1] < 2


def forest_rows(systems=("mine", "yours"), names=tuple(ageing.ASKED)):
    return [
        ageing.row(
            "penalised_score",
            0.2 + 0.03 * k + 0.02 * s,
            system=system,
            policy=policy,
            version="6",
            naive=0.35,
            shown_in="",
        )
        for s, system in enumerate(systems)
        for k, policy in enumerate(names)
    ]


def test_every_system_has_a_mark_under_every_policy():
    rows = forest_rows()
    picture = pictures.policy_scores(rows)
    assert [picture.y.names[k] for k in picture.y.heads] == [*ageing.ASKED]
    assert {(m.series, m.x) for m in marks_of(picture, "dot")} == {
        (r.dims["system"], r.value) for r in rows
    }
    assert {(m.lo, m.hi) for m in marks_of(picture, "interval")} == {
        (r.lower, r.upper) for r in rows
    }
    assert [m.x for m in marks_of(picture, "limit")] == [0.35] * len(rows)
    assert picture.x.domain[1] > 0.35
    for mark in marks_of(picture, "dot"):
        name = picture.y.names[mark.y]
        under = [picture.y.names[k] for k in picture.y.heads if k < mark.y][-1]
        [row] = [r for r in rows if (r.dims["system"], r.dims["policy"]) == (name, under)]
        assert mark.x == row.value
        assert mark.label.startswith(f"{name} under {under} (initial version 0.35): ")


def test_a_system_without_help_stands_among_those_with_a_penalty():
    rows = [*forest_rows(), *forest_rows(["bare"], ["uniform"])]
    bare = structs.replace(rows[-1], measure="policy_score")
    picture = pictures.policy_scores([*rows[:-1], bare])
    assert "bare, without help" in picture.y.names
    assert picture.x.label == "penalised_score:wer (lower is better)"


def test_an_undefined_score_is_said():
    rows = [*forest_rows(), ageing.row("penalised_score", None, system="none", policy="uniform")]
    picture = pictures.policy_scores(rows)
    at = picture.y.names.index("none")
    assert picture.columns[0][1][at] == "undefined"
    assert not [m for m in picture.marks if m.y == at]


# the price of help


def bar_rows(system="mine", base=0.3, adapted=0.2, cost=0.06, direction="lower", **more):
    pen = adapted + cost
    gain = (base - pen) * (1 if direction == "lower" else -1)
    values = {
        "base_score": base,
        "adapted_score": adapted,
        "penalty": cost,
        "penalised_score": pen,
        "generalisation_gain": gain,
    }
    more = {"shown_in": "", "direction": direction} | more
    return [ageing.row(name, v, system=system, **more) for name, v in values.items()]


def bars_of(picture):
    """(left, right) of the bars: what is kept and the penalty of each system, and the base."""
    bars = [(m.tone, m.lo, m.hi) for m in marks_of(picture, "bar")]
    return [*bars, *(m.x for m in marks_of(picture, "limit"))]


def test_the_penalty_stands_on_top_of_errors():
    picture = pictures.penalised_bars(bar_rows())
    kept, penalty, base = bars_of(picture)
    assert kept == (0, 0, 0.2)
    assert penalty == pytest.approx((1, 0.2, 0.26))
    assert base == 0.3
    assert picture.parts == ("score after the help", "penalty of the help")
    assert picture.caption == "Both parts together are the penalised score."


def test_the_penalty_is_taken_off_qualities():
    # the sentences of paper 004, Table 1: 25.81, 32.25 and a correction of 4.71
    rows = bar_rows(base=25.8088, adapted=32.2484, cost=-4.7121, direction="higher", spread=1)
    picture = pictures.penalised_bars(rows)
    assert bars_of(picture)[:2] == [
        pytest.approx((0, 0, 27.5363)),
        pytest.approx((1, 27.5363, 32.2484)),
    ]
    assert picture.parts[0] == "penalised score"
    kept, penalty = (m.label for m in marks_of(picture, "bar"))
    assert kept == "mine: penalised score 27.5 [26.5, 28.5]"
    shown = penalty.replace("\N{MINUS SIGN}", "-")
    assert shown == "mine: penalty -4.7 [-5.7, -3.7], score after the help 32.2 [31.2, 33.2]"
    assert picture.caption == "Both parts together are the score after the help."


def test_a_quality_below_zero_is_drawn_below_zero():
    picture = pictures.penalised_bars(bar_rows(adapted=2, cost=-4, direction="higher", base=3))
    assert bars_of(picture)[:2] == [(0, 0, 2), (1, -2, 2)]
    assert picture.domain("x")[0] < -2


def test_a_penalty_below_zero_is_seen_on_the_bar_of_errors():
    picture = pictures.penalised_bars(bar_rows(adapted=0.3, cost=-0.1))
    assert bars_of(picture)[:2] == [(0, 0, 0.3), pytest.approx((1, 0.2, 0.3))]


def test_the_interval_is_that_of_the_penalised_score_and_figures_say_all():
    picture = pictures.penalised_bars(bar_rows(spread=0.02))
    [interval] = marks_of(picture, "interval")
    assert (interval.lo, interval.hi) == pytest.approx((0.24, 0.28))
    assert [m.label for m in picture.marks if m.label] == [
        "mine: score after the help 0.200 [0.180, 0.220]",
        "mine: penalty 0.060 [0.040, 0.080], penalised score 0.260 [0.240, 0.280]",
        "mine: 0.300 [0.280, 0.320] before the help",
    ]
    [row] = texts_of(picture)
    assert [
        row[n] for n in ("before the help", "after the help", "penalty", "penalised score", "gain")
    ] == [
        *("0.300 [0.280, 0.320]", "0.200 [0.180, 0.220]", "0.060 [0.040, 0.080]"),
        *("0.260 [0.240, 0.280]", "0.040 [0.020, 0.060]"),
    ]
    assert dict(picture.columns)["gain"] == ("0.040 [0.020, 0.060]",)


def test_the_score_of_the_version_is_the_base_where_no_base_was_asked_for():
    rows = [
        ageing.row("policy_score", 0.3, shown_in="") if r.measure == "base_score" else r
        for r in bar_rows()
    ]
    assert bars_of(pictures.penalised_bars(rows)) == bars_of(pictures.penalised_bars(bar_rows()))


def test_bars_are_named_by_what_differs_under_their_policies():
    rows = [
        *bar_rows(version="1", policy="uniform"),
        *bar_rows(version="2", policy="uniform"),
    ]
    assert [*helped(rows)] == [("uniform", "mine, 1"), ("uniform", "mine, 2")]
    assert pictures.penalised_bars(rows).y.heads == ()
    both = pictures.penalised_bars([*rows, *bar_rows(version="2", policy="recent:3")])
    assert both.y.names == ("uniform", "mine, 1", "mine, 2", "recent:3", "mine, 2")
    assert both.y.heads == (0, 3)


def test_undefined_scores_have_a_row_without_bars():
    rows = [structs.replace(r, value=None, lower=None, upper=None) for r in bar_rows("none")]
    picture = laws(pictures.penalised_bars([*bar_rows(), *rows]))
    assert picture.columns[0][1][1] == "undefined"
    assert {m.y for m in picture.marks} == {0}


def test_scores_that_share_no_axis_are_refused():
    with pytest.raises(UsageError, match=r"rows of 2 scores \(penalised_score:bleu, pen.*:wer\)"):
        pictures.penalised_bars([*bar_rows(), *bar_rows(score="bleu")])
    with pytest.raises(UsageError, match="no system has both an adapted and a penalised score"):
        pictures.penalised_bars(bar_rows()[:2])
    with pytest.raises(UsageError, match="no system has a score under a policy"):
        pictures.policy_scores([])


# the cost of help


def test_the_area_is_that_under_the_steps():
    curve = ageing.curve(7)
    picture = pictures.learning_curves([ageing.described(curve=curve, shown_in="")])
    [line] = marks_of(picture, "line")
    assert line.step
    assert line.x[-1] == curve.maximum == picture.x.domain[1]
    assert line.y[-1] == curve.points[-1].value
    area = sum(np.diff(line.x) * line.y[:-1]) / curve.maximum
    by_hand = sum(60 * p.value for p in curve.points) / curve.maximum
    assert area == pytest.approx(by_hand)
    assert picture.caption == "Areas under the curves: mine 0.220 [0.210, 0.230]."
    last = texts_of(picture)[-1]
    assert [*last.values()][1] == "360"
    assert last["details"] == ageing.described(shown_in="").text_of(curve.points[-1])


def test_the_band_goes_in_steps_with_its_curve():
    curve = ageing.curve(3)
    [band] = marks_of(pictures.learning_curves([ageing.described(curve=curve)]), "band")
    assert band.x.tolist() == [0, 60, 60, 120, 120, 180]
    assert band.lo.tolist() == [p.lower for p in curve.points for _ in (0, 1)]


def test_curves_of_several_costs_are_refused():
    words = ageing.described("w", curve=ageing.curve(cost="words"))
    with pytest.raises(UsageError, match=r"curves of several costs \(seconds, words\): draw one"):
        pictures.learning_curves([words, ageing.described(curve=ageing.curve())])
    with pytest.raises(UsageError, match="no system has help at a known cost"):
        pictures.learning_curves([ageing.described()])
    bleu = ageing.described("b", curve=ageing.curve(), score="bleu")
    with pytest.raises(UsageError, match=r"curves of several scores \(bleu, wer\): draw one"):
        pictures.learning_curves([bleu, ageing.described(curve=ageing.curve())])


def test_a_curve_without_values_is_drawn_empty():
    none = LearningCurve(
        cost="words", points=[CurvePoint(cost=0), CurvePoint(cost=3)], maximum=3, area=Figure()
    )
    picture = laws(pictures.learning_curves([ageing.described(curve=none)]))
    assert not marks_of(picture, "dot")
    assert "mine undefined" in picture.caption


def test_the_lifelong_set_has_both_sides_of_each_version():
    found = ageing.described(states=EVERY, shown_in="")
    picture = pictures.lifelong_sequence(found)
    for state, series in (("base", "before"), ("adapted", "after")):
        drawn = [m.y for m in marks_of(picture, "dot") if m.series == f"{series} learning from it"]
        assert drawn == [f.value for f in found.stream if f.state == state]
    assert picture.y.domain[0] == 0
    worse = structs.replace(
        found, stream=[structs.replace(f, value=0.9, upper=0.92) for f in found.stream]
    )
    assert pictures.lifelong_sequence(found, beside=[worse]).y.domain[1] > 0.92


def test_without_a_scored_lifelong_set_there_is_nothing_to_draw():
    with pytest.raises(UsageError, match="the lifelong set was not scored"):
        pictures.lifelong_sequence(structs.replace(ageing.described(), stream=[]))


# awkward cases


def renamed(found, names):
    """The same system under policies of other names."""
    return structs.replace(
        found,
        policies=[
            structs.replace(found.policies[k % len(found.policies)], name=name)
            for k, name in enumerate(names)
        ],
    )


def described(*args, **more):
    return ageing.described(*args, states=EVERY, **more)


AWKWARD = {
    "few": described(versions=2, times=1),
    "usual": described(gap=True),
    "dates": described(versions=12, times=50, names=DATES),
    "many": described(versions=50, times=50, names=DATES),
    "twenty": described(versions=20, times=20),
    "long": renamed(
        described(LONG, versions=9, times=9, score="classification_cost"),
        [f"{LONG}-{k}.csv" for k in range(6)],
    ),
    "hostile": renamed(described(HOSTILE, names=[f"{HOSTILE}{k}" for k in range(8)]), [HOSTILE]),
    "quality": described(direction="higher", shown_in=""),
    "small": described(spread=1e-5, shown_in=""),
}
PICTURES = {
    "base": pictures.score_matrix,
    "penalised": lambda found: pictures.score_matrix(found, state="penalised"),
    "times": pictures.policy_times,
    "versions": pictures.policy_versions,
    "sequence": pictures.lifelong_sequence,
}


@pytest.mark.parametrize("name", AWKWARD)
@pytest.mark.parametrize("picture", PICTURES)
def test_pictures_of_one_system_keep_the_laws(name, picture):
    if (picture, name) == ("versions", "few"):
        return  # one version has no window
    drawn = PICTURES[picture](AWKWARD[name])
    laws(drawn)
    laws(drawn, [AWKWARD[name].name])  # as on a page


def test_pictures_of_many_systems_keep_the_laws():
    names = [f"{LONG}-{k}" for k in range(60)]
    laws(pictures.policy_scores(forest_rows(names, [f"{n}.csv" for n in names[:3]])))
    laws(pictures.penalised_bars([r for n in names for r in bar_rows(n)]))
    curves = [ageing.described(n, curve=ageing.curve(4 + k % 7)) for k, n in enumerate(names)]
    picture = laws(pictures.learning_curves(curves))
    assert picture.caption.endswith("and 52 more.")
    long = [ageing.described(HOSTILE, curve=ageing.curve(200))]
    assert len(marks_of(laws(pictures.learning_curves(long)), "dot")) == MOST
    laws(pictures.policy_scores(forest_rows([HOSTILE])))
    laws(pictures.penalised_bars(bar_rows(HOSTILE)))
