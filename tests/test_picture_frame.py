"""The frame that draws all pictures: scales, ticks, widths of texts, thinning, marks, files."""

import itertools
import os
import re
import subprocess
import sys
from importlib.resources import files
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtri

import truecost as tc
from drawn import laws, texts_of
from gated import row as row_of
from truecost.pictures import Axis, Frame, Mark, Picture, Rows, span
from truecost.pictures.files import letters
from truecost.pictures.look import DARK, LIGHT, RULES, attributes, cut, sheet, width_of, wrapped
from truecost.pictures.rows import figures_of
from truecost.pictures.scales import NORMAL, Place, forward, probit, thinned, tick_text
from truecost.pictures.svg import inline
from truecost.pictures.tables import ENDS, Shown, Table, both

SVG = "{http://www.w3.org/2000/svg}"


def curve(**more):
    """A line with a band and two dots, one of them beyond the axes."""
    x = np.linspace(0, 10, 50)
    marks = (
        Mark(kind="band", x=x, lo=x - 1, hi=x + 1, series="mine"),
        Mark(kind="line", x=x, y=x, series="mine"),
        Mark(kind="dot", x=5.0, y=5.0, series="mine", label="mine at 5"),
        Mark(kind="hollow", x=5.0, y=50.0, series="mine", label="mine far up"),
    )
    table = Table("Numbers", ("x", "y"), (("5", "5"), ("5", "50")))
    how = {"x": Axis(label="x", domain=(0, 10)), "y": Axis(label="y", domain=(0, 10))}
    return Picture(**{"name": "curve", "marks": marks, "table": table, **how, **more})


def rows():
    lines = Rows(("value",))
    for name, value in (("one", 0.2), ("two", 0.4)):
        y = lines.add(name, f"{value}")
        lines.mark("interval", y, lo=value - 0.1, hi=value + 3.0, series=name)
        lines.mark("dot", y, x=value, series=name, label=f"{name}: {value}")
    table = Table("Numbers", ("name", "value"), (("one", "0.2"), ("two", "0.4")))
    return lines.picture("rows", Axis(label="cost", domain=(0, 1)), table=table)


def parsed(picture, width=760.0):
    return ElementTree.fromstring(picture.svg(width))


def circles(tree):
    return [(float(c.get("cx")), float(c.get("cy"))) for c in tree.iter(f"{SVG}circle")]


def first_line(picture):
    paths = parsed(picture).iter(f"{SVG}path")
    return next(p.get("d") for p in paths if p.get("stroke-width") == "1.7")


# scales


def test_the_normal_quantile_is_that_of_scipy():
    low, middle = np.logspace(-6, -0.5, 200), np.linspace(0.3, 0.7, 50)
    rates = np.r_[low, middle, 1 - low]
    assert probit(rates) == pytest.approx(ndtri(rates), abs=2e-8)
    assert probit(np.array([0.0, 1.0])) == pytest.approx(ndtri([1e-10, 1 - 1e-10]), abs=1e-6)


@given(
    kind=st.sampled_from(["linear", "log", "probit"]),
    ends=st.tuples(st.floats(1e-4, 0.4), st.floats(0.5, 0.999)),
    pixels=st.floats(120, 900),
)
def test_ticks_are_apart_and_on_the_axis(kind, ends, pixels):
    place = Place(Axis(kind=kind, domain=ends), ends, 10.0, 10.0 + pixels, 34.0)
    at = [place.at(t) for t in place.ticks]
    assert all(10 - 1e-6 <= x <= 10 + pixels + 1e-6 for x in at)
    assert all(b - a >= 34 - 1e-6 for a, b in itertools.pairwise(at))
    assert all(ends[0] <= t <= ends[1] for t in place.ticks)
    assert place.at(ends[0]) == pytest.approx(10)
    assert place.at(ends[1]) == pytest.approx(10 + pixels)


def test_ticks_are_round_and_say_their_unit():
    place = Place(Axis(domain=(0, 0.77)), (0, 0.77), 0, 500, 34)
    assert place.texts == ["0", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7"]
    shares = Axis(scale="%")
    assert [tick_text(v, shares) for v in (0.0001, 0.25, -0.5)] == [
        "0.01%",
        "25%",
        "\N{MINUS SIGN}50%",
    ]
    assert tick_text(0.012, Axis(scale="pp")) == "1.2"
    assert tick_text(-2e-15, Axis()) == "0"
    logs = Place(Axis(kind="log"), (0.5, 120), 0, 400, 34)
    assert logs.texts == ["0.5", "1", "2", "5", "10", "20", "50", "100"]
    assert Place(Axis(kind="log"), (0.5, 120), 0, 100, 34).texts == ["1", "10", "100"]
    assert Place(Axis(kind="log"), (0.81, 1.3), 0, 400, 34).texts == [
        "0.9",
        "1",
        "1.1",
        "1.2",
        "1.3",
    ]
    assert Place(Axis(ticks=(1, 2, 4)), (0, 5), 0, 400, 34).ticks == [1, 2, 4]
    assert Place(Axis(ticks=(3, 1, 2, 4)), (0, 5), 0, 200, 45).ticks == [1, 3]  # the first stays


def test_axes_end_a_little_beyond_the_marks():
    assert span([0.0, 10.0]) == pytest.approx((-0.4, 10.4))
    assert span([[np.nan, 1.0], 2.0, None]) == pytest.approx((0.96, 2.04))
    assert span([3.0]) == pytest.approx((2.88, 3.12))
    assert span([]) == (0.0, 1.0)
    low, high = span([0.0, 0.01, 100.0], kind="log")
    assert 0 < low < 0.01
    assert high > 100
    low, high = span([0.0, 0.02, 0.3, 1.0], kind="probit")
    assert (low, high) == pytest.approx((0.016, 0.44))
    free = curve(x=Axis(label="x"), y=Axis(label="y"))
    assert free.domain("x") == pytest.approx((-0.4, 10.4))
    assert free.domain("y") == pytest.approx((-1 - 0.04 * 51, 50 + 0.04 * 51))
    assert rows().domain("x") == (0, 1)


# texts


def test_texts_are_never_wider_than_assumed():
    from reportlab.pdfbase.ttfonts import TTFont

    font = TTFont("measured", str(files("truecost") / "data" / "fonts" / "DejaVuSans.ttf"))
    words = ["act_dcf", "network, budget 4", "0.51 [0.38, 0.67]", "MMWWQ@%", "false-alarm rate"]
    words += [
        "wav2vec2-large-xlsr",
        "active >= 0.4 AND active < 0.8",
        "\N{MINUS SIGN}0.08",
        "Straße Ωmega",
    ]
    for text in words:
        assert font.stringWidth(text, 12) <= width_of(text) * 1.005, text


@given(text=st.text(st.characters(codec="utf-8"), max_size=60), room=st.floats(20, 300))
def test_cut_and_wrapped_texts_fit(text, room):
    assert width_of(cut(text, room)) <= room + 1e-9 or cut(text, room) == "…"
    lines = wrapped(text, room)
    assert len(lines) <= 2
    assert all(width_of(line) <= room + 1e-9 or len(line) <= 1 for line in lines)


def test_names_break_where_they_have_joints():
    name = "wav2vec2-large-xlsr-finetuned-with-augmentation"
    first, second = wrapped(name, width_of("wav2vec2-large-xlsr-fine"))
    assert first == "wav2vec2-large-xlsr-"
    assert second.startswith("finetuned-")


# thinning


@pytest.mark.parametrize("shape", ["smooth", "stairs", "noise", "spikes"])
def test_a_thinned_line_moves_by_less_than_a_third_of_a_pixel(shape):
    rng = np.random.default_rng(0)
    x = np.linspace(0, 700, 100_000)
    y = {
        "smooth": 200 + 90 * np.sin(x / 60),
        "stairs": np.floor(x / 9) * 4.0,
        "noise": 200 + rng.normal(0, 3, len(x)),
        "spikes": np.where(rng.random(len(x)) < 1e-3, 400.0, 100.0),
    }[shape]
    kept = thinned(x, y)
    assert kept[0] == 0
    assert kept[-1] == len(x) - 1
    assert len(kept) < (900 if shape in ("smooth", "stairs") else 16_000)
    if shape == "smooth":  # at right angles; its slope is 1.5 at most
        assert np.abs(np.interp(x, x[kept], y[kept]) - y).max() / np.hypot(1, 1.5) <= 0.3
    column = np.floor(x / 0.2)
    for find in (np.minimum, np.maximum):  # no peak is lost
        assert find.reduce(y[kept]) == pytest.approx(find.reduce(y), abs=0.2)
    assert len(np.unique(column)) > 3000


def test_a_hundred_thousand_points_are_a_small_picture():
    x = np.linspace(0, 1, 100_000)
    line = Mark(kind="line", x=x, y=np.sin(9 * x), series="a", step=True)
    picture = Picture(name="big", x=Axis(domain=(0, 1)), y=Axis(domain=(-1, 1)), marks=(line,))
    assert len(picture.svg()) < 60_000


# marks


def test_marks_land_where_the_axes_say():
    picture = curve()
    frame = Frame(picture, 760.0)
    [(x, y)] = circles(parsed(picture))
    assert x == pytest.approx((frame.left + frame.right) / 2, abs=0.06)
    assert y == pytest.approx((frame.top + frame.bottom) / 2, abs=0.06)
    assert frame.top < frame.bottom <= frame.height
    triangle = r'<path d="M([\d.]+) ([\d.]+)L[^"]*Z" fill="#0067a5" stroke="none"'
    [far] = re.findall(triangle, picture.svg())
    assert float(far[1]) < frame.top + 1  # a triangle at the upper edge


def test_intervals_that_leave_the_axis_end_in_arrows():
    svg = rows().svg()
    assert svg.count('stroke="none" />') >= 2
    frame = Frame(rows(), 760.0)
    ends = [float(v) for v in re.findall(r"M[\d.]+ [\d.]+H([\d.]+)", svg)]
    assert max(ends) <= frame.right + 0.06


def test_lines_break_where_there_is_no_number():
    x, y = np.arange(6.0), np.array([0, 1, np.nan, 3, 4, np.inf])
    picture = curve(marks=(Mark(kind="line", x=x, y=y, series="a"),))
    d = first_line(picture)
    assert d.count("M") == 2
    assert "nan" not in picture.svg().casefold()


def test_steps_hold_until_the_next_point():
    mark = Mark(kind="line", x=[0.0, 5.0, 10.0], y=[0.0, 10.0, 10.0], series="a", step=True)
    frame = Frame(curve(marks=(mark,)), 760.0)
    d = first_line(curve(marks=(mark,)))
    points = [tuple(map(float, p.split())) for p in d[1:].split("L")]
    middle = frame.x.at(5.0)
    for point, height in zip(points[1:3], (frame.bottom, frame.top), strict=True):
        assert point == pytest.approx((middle, height), abs=0.06)


def test_a_reversed_axis_runs_the_other_way():
    plain, turned = rows(), rows()
    turned = Picture(**{**vars(turned), "x": Axis(label="cost", domain=(0, 1), reverse=True)})
    (a, _), (b, _) = circles(parsed(plain)), circles(parsed(turned))
    frame = Frame(plain, 760.0)
    assert a[0] - frame.left == pytest.approx(frame.right - b[0], abs=0.2)
    laws(turned)


def test_a_narrow_picture_has_figures_under_the_names():
    wide, narrow = Frame(rows(), 760.0), Frame(rows(), 344.0)
    assert [head for head, _, _ in wide.figures()] == ["value"]
    assert narrow.figures() == []
    assert narrow.below_names() == ("0.2", "0.4")
    texts = {text for *_, text in texts_of(parsed(rows(), 344.0))}
    assert {"one", "0.2", "two", "0.4"} <= texts


def test_matrices_have_cells_and_an_edge():
    cells = tuple(
        Mark(kind="cell", x=x, y=y, tone=(x + y) % 6, text=f".{x}{y}", label=f"{x}, {y}")
        for x in range(4)
        for y in range(3)
    )
    edge = Mark(kind="edge", x=[1, 1, 2, 2], y=[0, 1, 1, 2])
    picture = Picture(
        name="matrix",
        x=Axis(kind="columns", names=("a", "b", "c", "d"), label="time"),
        y=Axis(kind="rows", names=("1", "2", "3")),
        marks=(*cells, edge),
        shades=("low", "", "", "", "", "high"),
    )
    laws(picture)
    assert Frame(picture, 760.0).width < 400  # cells stay small
    with pytest.raises(tc.UsageError, match="matrix is a matrix"):
        picture.matplotlib(None)


def test_words_of_rules_stand_clear_of_each_other():
    marks = tuple(Mark(kind="rule", x=v, text=f"limit {v}") for v in (0.5, 0.52, 0.54))
    marks += tuple(Mark(kind="rule", y=v, text=f"level {v}") for v in (5.0, 5.1, 5.2))
    laws(curve(marks=marks, x=Axis(domain=(0, 1)), y=Axis(domain=(0, 10))))


# the data


def test_a_picture_gives_its_data_and_its_words():
    picture = curve()
    frame = picture.frame()
    assert frame.columns == ["kind", "series", "label", "x", "y", "lo", "hi"]
    assert frame.filter(kind="line")["y"].to_list() == np.linspace(0, 10, 50).tolist()
    assert picture.alternative == "curve. mine at 5; mine far up"
    assert repr(picture) == "<Picture 'curve': curve. mine at 5; mine far up>"
    assert picture.series == ("mine",)
    assert picture._repr_svg_() == picture.svg()
    many = tuple(Mark(kind="dot", x=1.0, y=float(k), label=f"{k}") for k in range(13))
    assert curve(marks=many).alternative.endswith("; 11; and more")


def test_no_heading_stands_last_before_all_rows_are_shown():
    for many in range(1, 15):
        lines = Rows(("value",))
        for k in range(20):
            lines.head(f"subset {k}")
            for name in range(many):
                lines.add(f"{name}", "1")
        first = lines.picture("rows", Axis()).first(12)
        assert len(first.y.names) - 1 not in first.y.heads


def test_a_table_names_places_as_the_axis_does_and_repeats_nothing():
    x = Axis(label="version", ticks=(0.0, 1.0), names=("3", "7"))
    how = {"kind": "dot", "series": "one", "y": 0.5}
    marks = (
        Mark(x=0.0, label="one, version 3: 0.50 [0.40, 0.60]", **how),
        Mark(x=1.0, label="one, version 7, of 12 runs: 0.50", **how),
    )
    drawn = Picture(name="curve", x=x, y=Axis(label="cost"), marks=marks)
    assert drawn.numbers.header == ("series", "version", "cost", "details")
    assert drawn.numbers.rows == (
        ("one", "3", "0.5", "0.50 [0.40, 0.60]"),
        ("one", "7", "0.5", "of 12 runs: 0.50"),
    )


def test_tables_hold_value_lower_and_upper_in_full():
    row = row_of(0.587188589, 0.44, 0.77)
    lines = Rows(("cost", "data"), ("least",), "system", "subset")
    lines.head("all data")
    y = lines.add("one", figures_of(row), "12 trials", Shown("0.5", 0.5000001))
    lines.estimate(y, row, "one", series="one")
    lines.add("two", Shown("undefined", None, None, None), "3 trials", "")
    picture = laws(lines.picture("rows", Axis(label="cost")))
    assert picture.table.rows[0][2] == "0.59 [0.44, 0.77]"
    assert picture.table.text("csv").splitlines() == [
        "subset,system,value,lower,upper,data,least",
        "all data,one,0.587188589,0.44,0.77,12 trials,0.5000001",
        "all data,two,,,,3 trials,",
    ]
    [dot] = picture.frame().filter(kind="dot").iter_rows(named=True)
    found = [dot[name] for name in ("of", "name", "value", "lower", "upper")]
    assert found == ["all data", "one", 0.587188589, 0.44, 0.77]
    pair = ("a", *both(("0.59", "[0.44, 0.77]"), 0.587188589, 0.44, 0.77))
    apart = Table("Numbers", ("name", "cost", "its interval"), (pair,))
    assert apart.in_full() == [("name", *ENDS), ("a", "0.587188589", "0.44", "0.77")]


def test_matplotlib_has_a_legend_and_ticks_that_have_room():
    from matplotlib.figure import Figure

    ax = Figure(figsize=(3, 3)).add_subplot()
    assert curve(zoom=True).matplotlib(ax).get_legend().get_texts()[0].get_text() == "mine"
    ticks = tuple(float(k) for k in range(100))
    many = curve(x=Axis(domain=(0, 99), ticks=ticks, reverse=True)).matplotlib(ax)
    assert 2 < len(many.get_xticks()) < 12
    assert many.get_xlim() == (99, 0)
    keyed = rows().matplotlib(Figure().add_subplot())
    assert keyed.get_legend() is None


def test_matplotlib_draws_the_same_numbers():
    from matplotlib.figure import Figure

    ax = Figure().add_subplot()
    assert curve().matplotlib(ax) is ax
    assert (ax.get_xlabel(), ax.get_xlim(), ax.get_ylim()) == ("x", (0, 10), (0, 10))
    line, dot, far = ax.lines
    assert line.get_ydata().tolist() == np.linspace(0, 10, 50).tolist()
    assert (dot.get_xdata().tolist(), far.get_ydata().tolist()) == ([5.0], [50.0])
    ax = rows().matplotlib(Figure().add_subplot())
    assert [t.get_text() for t in ax.get_yticklabels()] == ["one", "two"]
    rates = curve(x=Axis(kind="probit", domain=(0.01, 0.5), scale="%"), marks=())
    ax = rates.matplotlib(Figure().add_subplot())
    assert "1%" in [t.get_text() for t in ax.get_xticklabels()]
    assert float(forward("probit", np.array(0.5))) == 0


# files


@pytest.mark.parametrize("ending", ["svg", "pdf", "png", "csv", "tex", "md"])
def test_equal_pictures_give_equal_bytes(tmp_path, ending):
    one, other = (curve().save(tmp_path / f"{k}.{ending}").read_bytes() for k in range(2))
    assert one == other
    assert len(one) > 9


def test_a_pdf_has_its_font_inside_and_its_text_as_text(tmp_path):
    data = curve(title="Ein Bild für alle").save(tmp_path / "a.pdf").read_bytes()
    assert data.startswith(b"%PDF")
    assert b"DejaVuSans" in data
    assert b"Helvetica" not in data
    assert b"/FontFile2" in data


def test_letters_that_the_font_lacks_are_named(tmp_path):
    strange = curve(x=Axis(label="音声", domain=(0, 10)))
    with pytest.warns(UserWarning, match="lacks 声, 音"):
        strange.save(tmp_path / "a.pdf")
    assert ord("é") in letters()
    assert "音声" in strange.save(tmp_path / "a.svg").read_text(encoding="utf-8")


def test_names_that_differ_at_their_end_are_cut_apart():
    names = [f"{'a_name_without_any_space_' * 3}{k}" for k in range(3)]
    assert len({cut(name, 100) for name in names}) == 3
    assert len({tuple(wrapped(name, 100)) for name in names}) == 3
    lines = [line for name in names for line in (cut(name, 100), *wrapped(name, 100))]
    assert all(width_of(line) <= 100 for line in lines)
    assert wrapped("one, two, three, four", 90) == ["one, two,", "three, four"]


def test_what_cannot_be_written_is_said(tmp_path):
    with pytest.raises(tc.UsageError, match=r"written as svg, pdf, png, csv, tex, md: .* x\.svg"):
        curve().save(tmp_path / "x.bmp")
    (tmp_path / "file").touch()
    with pytest.raises(tc.InputError, match="cannot be written"):
        curve().save(tmp_path / "file" / "x.svg")
    with pytest.raises(tc.UsageError, match="has no table of its own"):
        curve(table=None, marks=()).save(tmp_path / "x.csv")


def test_tables_as_text():
    table = Table("T", ("name & co", "value"), (("a|b_1", "-0.5"), ("100%", "[1, 2]")))
    assert table.text("csv") == 'name & co,value\na|b_1,-0.5\n100%,"[1, 2]"\n'
    assert table.text("md").splitlines()[1:3] == ["| --- | --: |", "| a\\|b_1 | -0.5 |"]
    tex = table.text("tex")
    assert r"name \& co & value \\" in tex
    assert r"a\textbar{}b\_1 & $-$0.5 \\" in tex
    assert r"\begin{tabular}{lr}" in tex


def test_ids_of_pictures_in_one_notebook_do_not_clash():
    ids = [set(re.findall(r'id="([^"]+)"', p.svg())) for p in (curve(zoom=True), rows())]
    assert all(ids)
    assert not ids[0] & ids[1]
    for picture in (curve(zoom=True), rows()):
        svg = picture.svg()
        assert set(re.findall(r"url\(#([^)]+)\)", svg)) <= set(re.findall(r'id="([^"]+)"', svg))


def test_the_same_bytes_in_other_processes():
    code = (
        "import numpy as np, sys; sys.path.insert(0, 'tests')\n"
        "from test_picture_frame import curve, rows\n"
        "import hashlib; print(hashlib.sha256((curve().svg() + rows().svg()).encode()).hexdigest())"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1


# looks


def luminance(colour):
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return float(np.dot(parts, [0.2126, 0.7152, 0.0722]))


@pytest.mark.parametrize("palette", [LIGHT, {**LIGHT, **DARK}], ids=["light", "dark"])
def test_colours_are_seen_on_their_paper(palette):
    """WCAG 2.2, 1.4.11 and 1.4.3: 3 to 1 for graphics, 4.5 to 1 for texts."""
    for name, colour in palette.items():
        least = 4.5 if name in ("ink", "soft") else 3 if re.fullmatch(r"[sc]\d", name) else 0
        dark, light = sorted([luminance(colour), luminance(palette["paper"])])
        assert (light + 0.05) / (dark + 0.05) >= least, name


def test_the_sheet_and_the_attributes_say_the_same():
    assert attributes("path", ["line", "s1"])["stroke"] == LIGHT["s1"]
    assert attributes("path", ["line", "s1"])["stroke-dasharray"] == "7 2"
    assert attributes("circle", ["hollow", "s0"])["fill"] == LIGHT["paper"]
    assert ".line.s1{stroke-dasharray:7 2}" in sheet()
    for name in LIGHT:
        assert f"--{name}:" in sheet()
    assert all("own" not in text for text in sheet().split("{"))
    assert RULES


def test_the_script_has_the_same_scales():
    script = (files("truecost") / "report" / "live.js").read_text(encoding="utf-8")
    assert {"data.normal", "data.rates"} <= {*re.findall(r"data\.\w+", script)}
    assert [len(factors) for factors in NORMAL] == [6, 6, 6, 5]


@pytest.mark.parametrize("slope", [1.0, -1.0])
def test_a_line_that_leaves_the_picture_keeps_its_slope(slope):
    """Few points: what lies beyond is cut where the line leaves, and not bent."""
    ends = np.array([0.0, 10.0])
    picture = Picture(
        name="line",
        x=Axis(domain=(0.0, 10.0)),
        y=Axis(domain=(4.5, 5.5)),
        marks=(Mark(kind="line", x=ends, y=5 + slope * (ends - 5)),),
    )
    frame = Frame(picture, 760.0)
    [path] = re.findall(r'<path class="line[^"]*"[^>]* d="M([^"]+)"', inline(frame, "full", "k"))
    points = np.array([[float(n) for n in at.split()] for at in path.split("L")])
    inside = points[(points[:, 1] >= frame.top - 60) & (points[:, 1] <= frame.bottom + 60)]
    middle = inside[(inside[:, 0] > frame.left) & (inside[:, 0] < frame.right)]
    assert len(middle) == 2
    x, y = (frame.x(ends), frame.y(5 + slope * (ends - 5)))
    assert np.interp(middle[:, 0], x, y) == pytest.approx(
        middle[:, 1], abs=0.6 * abs(y[1] - y[0]) / (x[1] - x[0])
    )
