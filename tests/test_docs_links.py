"""The pages of the documentation lead somewhere, and what checks that finds every planted fault."""

import re
import subprocess
import sys

import pytest

from docs_links import LEVELS, ROOT, faults
from truecost.tasks.measures import registry


def anchors_of_measures() -> set[str]:
    """The anchors that the directive `measures` makes (docs/_ext/reference.py)."""
    return {f"measure-{name.replace('_', '-')}" for name in registry()}


def test_every_link_page_and_picture_of_the_documentation_is_right():
    found = faults(ROOT, {"docs/api/measures.md": anchors_of_measures()})
    assert not found, "\n".join(["", *found])


def test_the_levels_of_anchors_are_those_of_the_site():
    written = (ROOT / "docs" / "conf.py").read_text(encoding="utf-8")
    assert f"myst_heading_anchors = {LEVELS}\n" in written


INDEX = """# Made up

[a](a.md), [its part](a.md#a-part-of-it), [named](a.md#named), [own](#made-up), [](sub/b.md)

![Two curves that cross](p.svg)

```{toctree}
:hidden:

a
```
```{toctree}
:glob:

sub/*
```
"""
A = """# A

## A part, *of* `it`

(named)=
#### Deep

| a | table |
| --- | --- |
| [index](index.md) | [read me](../README.md) |

```text
[not a link](nowhere.md), TO DO
```
"""


@pytest.fixture
def site(tmp_path):
    """A small site without a fault."""
    (tmp_path / "docs" / "sub").mkdir(parents=True)
    files = {
        "README.md": "# Read me\n\n[](docs/a.md#a-part-of-it) <https://semver.org/>\n",
        "docs/index.md": INDEX,
        "docs/a.md": A,
        "docs/sub/b.md": "# B\n\n[up](../a.md#named), [](c.md#read-me)\n",
        "docs/sub/c.md": "```{include} ../../README.md\n```\n",
        "docs/p.svg": "<svg/>",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_a_site_without_a_fault_has_none(site):
    assert faults(site) == []


PLANTED = [
    ("docs/a.md", "[x](c.md)", "c.md: there is no such file"),
    (
        "docs/a.md",
        "[x](index.md#made-down)",
        "index.md#made-down: there is no such heading or target",
    ),
    (
        "docs/a.md",
        "[x](#deep)",
        "#deep: there is no such heading or target",
    ),  # the site has 3 levels
    ("docs/a.md", "[x][y]\n\n[y]: c.md", "c.md: there is no such file"),
    ("docs/a.md", "[x](p.svg#part)", "p.svg#part: only pages of the documentation have anchors"),
    ("docs/a.md", "[x](../../elsewhere.md)", "../../elsewhere.md: there is no such file"),
    ("docs/a.md", "[x](/etc/passwd)", "/etc/passwd: this leaves the repository"),
    ("docs/a.md", "![Two curves](q.svg)", "q.svg: there is no such picture"),
    ("docs/a.md", "![](p.svg)", "p.svg: the picture has no alternative text"),
    ("docs/a.md", "![curves](p.svg)", "p.svg: the picture has no alternative text"),
    ("docs/a.md", "<!-- TODO: more -->", "TODO is left to be done"),
    ("docs/a.md", "[x](b c.md)", "was to be a link and is none"),
    ("docs/a.md", "[x][nothing]", "was to be a link and is none"),
    ("docs/a.md", "[x](http://semver.org/)", "links elsewhere begin with https:"),
    ("docs/a.md", "[x](mailto:a@semver.org)", "links elsewhere begin with https:"),
    ("docs/a.md", "[x](https://semver/)", "this is no address"),
    ("docs/a.md", "[x](https://semver.org.example.com/)", "is no host of HOSTS"),
    ("docs/sub/b.md", "[x](a.md)", "a.md: there is no such file"),
    ("docs/index.md", "```{toctree}\nnowhere\n```", "nowhere: no page of that name"),
    ("docs/index.md", "```{toctree}\n:glob:\n\nnowhere/*\n```", "nowhere/*: no page of that name"),
    ("docs/index.md", "```{toctree}\na\n```", "docs/a.md: 2 tables of contents have this page"),
    ("docs/lost.md", "# Lost", "docs/lost.md: no table of contents leads to this page"),
    ("README.md", "[x](docs/a.md#named)", "docs/a.md#named: GitHub knows no such heading there"),
    ("CHANGELOG.md", "[x](docs/c.md)", "docs/c.md: there is no such file"),
]


@pytest.mark.parametrize(("name", "text", "said"), PLANTED)
def test_a_planted_fault_is_found_with_its_line(site, name, text, said):
    path = site / name
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    path.write_text(f"{before}\n{text}\n", encoding="utf-8")
    [found] = faults(site)
    assert found.startswith(name) or said.startswith("docs/")
    assert said in found
    line = re.match(r"[^:]+:(\d+): ", found)
    assert not line or int(line[1]) > before.count("\n")


def test_pages_that_only_lead_to_each_other_are_lost(site):
    for name, other in (("c", "d"), ("d", "c")):
        path = site / "docs" / f"{name}.md"
        path.write_text(f"# {name}\n\n```{{toctree}}\n{other}\n```\n", encoding="utf-8")
    assert faults(site) == [
        f"docs/{name}.md: no table of contents leads to this page" for name in "cd"
    ]


def test_a_broken_reference_stops_the_build_of_the_site(tmp_path):
    """With the settings of docs/conf.py, but no directives that write the reference anew."""
    broken = {  # a page each, with what is said of it
        "index": ("[](nowhere.md)", "cross-reference target not found: 'nowhere.md'"),
        "part": ("[](#nowhere)", "cross-reference target not found: 'nowhere'"),
        "list": ("```{toctree}\nnowhere\n```", "nonexisting document 'nowhere'"),
    }
    conf = ROOT / "docs" / "conf.py"
    settings = conf.read_text(encoding="utf-8").replace("__file__", repr(str(conf)))
    settings += 'extensions.remove("reference")\nhtml_theme, html_theme_options = "basic", {}\n'
    (tmp_path / "source" / "_static").mkdir(parents=True)
    (tmp_path / "source" / "conf.py").write_text(settings, encoding="utf-8")
    for name, (text, _) in broken.items():
        page = tmp_path / "source" / f"{name}.md"
        page.write_text(f"# Made up\n\n{text}\n", encoding="utf-8")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "dummy"]
    places = [str(tmp_path / "source"), str(tmp_path / "site")]
    done = subprocess.run([*command, *places], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    for name, (_, said) in broken.items():
        assert any(f"{name}.md:" in line and said in line for line in done.stderr.splitlines())
