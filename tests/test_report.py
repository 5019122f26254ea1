"""The report: every picture has its table, figures agree with the rows, nothing is fetched."""

import re
from html.parser import HTMLParser

import numpy as np
import polars as pl
import pytest

from truecost import study
from truecost.report import curves, page, plots


class Page(HTMLParser):
    """Tags with their attributes, and the text of cells."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.cells, self.inside = [], [], False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.inside = tag in ("td", "th")

    def handle_data(self, data):
        if self.inside:
            self.cells.append(data)
            self.inside = False

    def all(self, name):
        return [attributes for tag, attributes in self.tags if tag == name]


@pytest.fixture(scope="module")
def outcome(tmp_path_factory, ran):
    folder = tmp_path_factory.mktemp("report")
    rng = np.random.default_rng(5)
    label = (rng.random(900) < 0.3).astype(int)
    speaker = rng.integers(0, 60, 900)
    for name, gain in (("base", 2.0), ("better <b>", 3.0)):
        s = gain * (label - 0.5) * 2 + rng.normal(size=900) + 0.5 * rng.normal(size=60)[speaker]
        frame = {"id": np.arange(900), "score": s, "label": label, "unit": speaker}
        pl.DataFrame({**frame, "room": speaker % 3}).write_csv(folder / f"{name}.csv")
    paths = [f"base={folder / 'base.csv'}", f"better <b>={folder / 'better <b>.csv'}"]
    application = {"cost_miss": 5, "prior": 0.1}
    tables = {"application": application, "subsets": {"room": "room"}}
    return ran(*paths, compare=True, interval={"replicates": 400}, **tables)


@pytest.fixture(scope="module")
def found(outcome):
    [only] = curves.of_outcome(outcome)
    return only.det


@pytest.fixture(scope="module")
def report(outcome):
    return page.render(outcome.result, curves.of_outcome(outcome))


def test_nothing_is_fetched_and_nothing_runs(report):
    parsed = Page(report)
    assert not parsed.all("script")
    assert not parsed.all("link")
    assert not parsed.all("img")
    for _, attributes in parsed.tags:
        for name, value in attributes.items():
            assert not name.startswith("on")
            if name in ("src", "href", "xlink:href"):
                assert value.startswith("#")
    assert "@import" not in report
    assert not re.findall(r"url\((?!#)", report)


def test_every_picture_has_a_text_alternative_and_a_table(report):
    parsed = Page(report)
    figures = parsed.all("figure")
    assert len(figures) == 3
    assert all(f["role"] == "img" and len(f["aria-label"]) > 20 for f in figures)
    assert len(parsed.all("svg")) == 2 * 3  # for wide and for narrow screens
    assert len(parsed.all("table")) >= 3 + 2
    assert len(parsed.all("table")) == len(parsed.all("caption"))


def test_names_are_escaped(report):
    assert "better <b>" not in report
    assert "better &lt;b&gt;" in report


def test_verdict_says_value_interval_and_comparison(outcome, report):
    row = next(r for r in outcome.rows if r.measure == "act_dcf")
    assert f"base: actual detection cost (normalised) {row.value:.3g}, 95% interval" in report
    assert re.search(r"better &lt;b&gt; against base: .* better\.", report)


def test_ids_of_pictures_do_not_clash(report):
    ids = re.findall(r'\bid="([^"]+)"', report)
    assert len(ids) == len(set(ids))


def test_curves_agree_with_the_rows(outcome, found):
    rows = {(r.dims["system"], r.measure): r for r in outcome.estimates if "subset" not in r.dims}
    for curve in found:
        miss, fa = (rows[curve.system, name].point for name in ("p_miss", "p_fa"))
        assert curve.actual == pytest.approx((fa, miss))
        application = outcome.parts[0].scoring[curve.system].application
        least = application.cost_miss * 0.1 * curve.minimum[1] + 0.9 * curve.minimum[0]
        assert least / application.naive_cost == pytest.approx(rows[curve.system, "min_dcf"].point)


def test_band_holds_the_curve_and_the_curve_is_monotone(found):
    for curve in found:
        assert (curve.lower <= curve.middle).all()
        assert (curve.middle <= curve.upper).all()
        assert (np.diff(curve.p_miss) >= 0).all()
        assert (np.diff(curve.p_fa) <= 0).all()
        assert len(curve.p_miss) <= curves.DRAWN


def test_curve_table_has_all_kinds(found):
    frame = curves.frame_of(found)
    assert set(frame["kind"]) == {"det", "band", "det point"}
    assert set(frame["system"]) == {"base", "better <b>"}


def test_pictures_draw_on_given_axes(outcome, found, tmp_path):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 4), layout="constrained")
    axes = figure.subplots(1, 3)
    rows = [r for r in outcome.estimates if r.measure == "act_dcf"]
    assert plots.cost_bars([r for r in rows if "subset" not in r.dims], axes[0]) is axes[0]
    assert plots.det(found, axes[1]) is axes[1]
    assert plots.forest(rows, axes[2]) is axes[2]
    for ending in ("png", "pdf", "svg"):
        figure.savefig(tmp_path / f"all.{ending}")
        assert (tmp_path / f"all.{ending}").stat().st_size > 1000


@pytest.mark.parametrize("kind", ["score", "decision", "number", "posterior"])
def test_other_types_have_a_report_too(tmp_path, kind, ran):
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, 80)
    score = {
        "score": rng.normal(size=80) + label,
        "decision": label * (rng.random(80) < 0.9),
        "number": label + rng.normal(size=80),
        "posterior": 0.1 + 0.8 * label,
    }[kind]
    pl.DataFrame({"score": score, "label": label}).write_csv(tmp_path / "a.csv")
    outcome = ran(tmp_path / "a.csv", data={"type": kind}, interval={"replicates": 50})
    target = study.write(outcome, str(tmp_path / "out"))
    assert "What it really costs" in (target / "report.html").read_text()
    assert (target / "curves.parquet").exists() == (kind in ("score", "posterior"))


def test_the_picture_of_the_readme_shows_the_figures_of_the_demo():
    import importlib.util
    from pathlib import Path

    place = Path(__file__).parents[1] / "docs" / "pictures"
    spec = importlib.util.spec_from_file_location("draw", place / "draw.py")
    draw = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(draw)
    drawn = (place / "demo.svg").read_text(encoding="utf-8")
    costs = ("act_dcf", "min_dcf", "cllr")
    rows = [r for r in draw.demo().estimates if r.measure in costs and "subset" not in r.dims]
    assert len(rows) == 6
    for row in rows:
        assert f">{row.value:.3g}</text>" in drawn
