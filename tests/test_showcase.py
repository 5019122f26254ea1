"""The showcase: its study files load, and its index says what its pages print."""

import re
from pathlib import Path

import pytest

from truecost import Study

SHOWCASE = Path(__file__).parents[1] / "docs" / "showcase"
STUDIES = sorted(SHOWCASE.glob("*.toml"))
RANK = re.compile(r"^ +(\d+) +\d+-\d+ ", re.MULTILINE)  # a row of a leaderboard: rank, place
VERDICT = re.compile(r" (\w+) +[-+\d]\S*(?: pp)? .* (better|worse|inconclusive)$", re.MULTILINE)


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_a_study_of_the_showcase_loads_without_its_data(path):
    study = Study.read(str(path))
    assert study.baseline in study.systems
    assert len(study.systems) > 1
    page = path.with_suffix(".md").read_text(encoding="utf-8")
    assert re.search(
        rf"^\$ truecost .*(run|--config) {path.name}", page.replace("\\\n", ""), re.MULTILINE
    )
    assert f"({path.stem}.svg)" in page


def decided(page: str) -> tuple[int, int]:
    """How many pairs are decided by the first measure of a page, and how many there are.

    A rank of a leaderboard is one more than the number of systems that are better.
    """
    ranks = [int(rank) for rank in RANK.findall(page)]
    if ranks:
        return sum(ranks) - len(ranks), len(ranks) * (len(ranks) - 1) // 2
    found = VERDICT.findall(page)
    verdicts = [verdict for measure, verdict in found if measure == found[0][0]]
    return len(verdicts) - verdicts.count("inconclusive"), len(verdicts)


def test_the_index_of_the_showcase_says_what_its_pages_print():
    text = (SHOWCASE / "index.md").read_text(encoding="utf-8")
    rows = re.findall(r"\| (\d+) of (\d+)\b[^|]*\| \[\]\((\w+)\.md\) \|$", text, re.MULTILINE)
    assert [f"{name}.toml" for *_, name in sorted(rows, key=lambda row: row[2])] == [
        path.name for path in STUDIES
    ]
    for pairs, of, name in rows:
        page = (SHOWCASE / f"{name}.md").read_text(encoding="utf-8")
        assert decided(page.partition("\n## ")[0]) == (int(pairs), int(of)), name
