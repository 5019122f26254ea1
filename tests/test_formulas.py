"""The page of formulas: every measure, its formula, and what comes out of it by hand.

`tests/test_docs.py` runs the examples of the page. Here: every measure of the registry has one
formula and nothing else has, every one is worked by hand beside what truecost says, all mathematics
can be drawn without a network, and the page says of a measure what the registry says.
"""

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from truecost.report.citations import authors
from truecost.tasks.measures import find_of_any_task, registry

DOCS = Path(__file__).parents[1] / "docs"
sys.path.insert(0, str(DOCS / "_ext"))
from formulas import anchor, mathml, range_of  # noqa: E402  (the extension lies beside the pages)
from notation import is_formula, tex  # noqa: E402
from reference import better_of  # noqa: E402

TEXT = (DOCS / "formulas.md").read_text(encoding="utf-8")
BLOCK = re.compile(
    r"^```\{(formula|math)\} ?(.*)\n((?::naive: .*\n)?)((?:.*\n)*?)```$", re.MULTILINE
)
SHOWN = [key for kind, keys, *_ in BLOCK.findall(TEXT) if kind == "formula" for key in keys.split()]
FIGURE = r"-?(?:[\d.]+(?:e[-+]\d+)?|inf|nan)"
WORKED = re.compile(
    rf"^([a-z_]\S*) +({FIGURE}) ({FIGURE})(?: +naive ({FIGURE}) ({FIGURE}))?$", re.M
)


def test_every_measure_has_one_formula_and_nothing_else_has():
    assert not (lacking := sorted({*registry()} - {*SHOWN})), f"docs/formulas.md lacks {lacking}"
    assert sorted(SHOWN) == sorted(registry())


def measures_of(label: str) -> set[str]:
    """The measures that a worked line is about: `lifelong/policy_score:wer` is about two."""
    task, _, rest = label.rpartition("/")
    name, *parameters = rest.split(":")
    found = {key for key in registry() if key in (name, f"{task}/{name}" if task else name)}
    if task and f"{task}/{name}" in found:
        found.discard(name)  # the measure of another task
    return found | ({parameters[0]} & set(registry()) if parameters else set())


def test_every_measure_is_worked_by_hand():
    worked = set().union(*(measures_of(label) for label, *_ in WORKED.findall(TEXT)))
    lacking = sorted(set(registry()) - worked)
    assert not lacking, f"no example of docs/formulas.md works {lacking} by hand"


@pytest.mark.parametrize("line", WORKED.findall(TEXT), ids=lambda line: line[0])
def test_what_truecost_says_is_what_the_formula_gives(line):
    label, tool, hand, naive, by_hand = line
    assert tool == hand
    assert naive == by_hand
    name = label.rpartition("/")[2].partition(":")[0]
    assert any(m.name == name for m in registry().values())
    assert find_of_any_task(label.rpartition("/")[2].split(":")[0]).name == name


def naive_of(key: str) -> str:
    """What the page says that the naive baseline gets, in TeX."""
    return next(naive for kind, keys, naive, _ in BLOCK.findall(TEXT) if key in keys.split())


@pytest.mark.parametrize("key", registry())
def test_what_is_worked_by_hand_has_a_naive_system_where_its_formula_has_one(key):
    lines = [line for line in WORKED.findall(TEXT) if key in measures_of(line[0])]
    own = [line for line in lines if line[0].split(":")[0] in (key, registry()[key].name)]
    for line in own:
        assert bool(line[3]) == bool(naive_of(key)), line[0]


def every_tex():
    """All mathematics of the page: TeX, and whether it stands by itself."""
    for _, _, naive, body in BLOCK.findall(TEXT):
        yield from ((tex, True) for tex in body.strip().split("\n\n"))
        if naive:
            yield naive.removeprefix(":naive: "), False
    yield from ((tex, False) for tex in re.findall(r"\{math\}`([^`]+)`", TEXT))


def test_all_mathematics_can_be_drawn_by_a_browser_alone():
    found = [*every_tex()]
    assert len(found) > 150
    for shown, block in found:
        drawn = mathml(shown, block=block)
        assert drawn.startswith("<math"), shown
        assert "\\" not in re.sub(r"<[^>]*>", "", drawn), shown
        # An index below a letter is one that the converter took for that of a sum.
        assert not re.search(r"<munder(over)?>\s*<mi>\w</mi>", drawn), shown


def test_what_is_no_mathematics_is_refused():
    with pytest.raises(ValueError, match="nosuchcommand"):
        mathml(r"\nosuchcommand x", block=False)


def test_ranges_are_those_of_the_docstrings():
    ranges = {key: range_of(measure) for key, measure in registry().items()}
    assert ranges["nec"] == "[0, ∞)"
    assert ranges["detection_cost"] == "[0, Cm P + Cf (1-P)]"
    assert ranges["atwv"] == "[-beta, 1]"
    assert ranges["r2"] == "(-∞, 1]"
    stated = {k for k, m in registry().items() if "ange [" in (m.function.__doc__ or "")}
    assert {key for key, found in ranges.items() if found} >= stated
    assert len(stated) > 60


@pytest.mark.parametrize(
    ("plain", "mathematics"),
    [
        (
            "sum_k P_k (1 - R[k, k]) / (1 - max_k P_k)",
            r"\frac{\sum_{k} \, P_{k} \, ( 1 - R_{kk} )}{1 - \max_{k} \, P_{k}}",
        ),
        (
            "Pmiss(t) with Pfa(t) <= rate",
            r"P_{\text{miss}}( t ) \, \text{with} \, P_{\text{fa}}( t ) \le \text{rate}",
        ),
        ("errors / (errors + hits)", r"\frac{\text{errors}}{\text{errors} + \text{hits}}"),
        ("R_(j-1,j) - R_(0,j)", "R_{j-1,j} - R_{0,j}"),
    ],
)
def test_plain_formulas_of_docstrings_become_mathematics(plain, mathematics):
    assert is_formula(plain)
    assert tex(plain) == mathematics


def test_every_formula_of_a_docstring_is_mathematics():
    found = {
        part
        for measure in registry().values()
        for part in re.findall("`([^`]+)`", " ".join((measure.function.__doc__ or "").split()))
        if is_formula(part)
    }
    assert len(found) > 60
    for part in found:
        drawn = mathml(tex(part), block=True)
        assert "\\" not in re.sub(r"<[^>]*>", "", drawn), part
        assert not re.search(r"<munder(over)?>\s*<mi>\w</mi>", drawn), part
    assert not [name for name in registry() if is_formula(name)]  # names stay code


class Terms(HTMLParser):
    """The text of each formula on the page, by its anchor."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.here, self.found, self.sources = "", {}, []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.sources += [given[a] for a in ("src",) if given.get(a)]
        if tag == "dt":
            self.here = given.get("id", "")
            self.found[self.here] = ""
        if tag in ("pre", "h2", "h3"):
            self.here = ""

    def handle_data(self, data):
        if self.here:
            self.found[self.here] += data


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> str:
    """The page as HTML, built with nothing but the extension."""
    folder = tmp_path_factory.mktemp("formulas")
    (folder / "formulas.md").write_text(TEXT, encoding="utf-8")
    conf = f"""
import sys
sys.path.insert(0, {str(DOCS / "_ext")!r})
extensions = ["myst_parser", "formulas"]
root_doc, html_theme, html_math_renderer = "formulas", "basic", "mathml"
"""
    (folder / "conf.py").write_text(conf, encoding="utf-8")
    command = [sys.executable, "-m", "sphinx", "-q", "-b", "html", str(folder), str(folder / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "does not show" not in done.stderr
    return (folder / "out" / "formulas.html").read_text(encoding="utf-8")


def test_the_page_says_of_each_measure_what_the_registry_says(page):
    told = Terms(page).found
    for key, measure in registry().items():
        text = " ".join(told[anchor(key)].replace("’", "'").split())  # noqa: RUF001
        assert text.startswith(f"{measure.name} {measure.title}"), key
        assert better_of(measure).capitalize() in text
        assert measure.follows or ("is better" in text) == bool(better_of(measure))
        source = authors(measure.source)
        assert source in text or source[:1].upper() + source[1:] in text
        assert range_of(measure) in text


def test_the_page_needs_no_network(page):
    assert page.count("<math") > 150
    assert "mathjax" not in page.lower()
    assert not [source for source in Terms(page).sources if "//" in source]
    conf = (DOCS / "conf.py").read_text(encoding="utf-8")
    assert 'html_math_renderer = "mathml"' in conf
