"""The errata of the papers: every one is proved by code that runs, and no proof holds without it.

`tests/test_docs.py` runs the page. Here: each entry has a proof, what the paper has is not what is
right, and what truecost says is what is right. Where the papers are at hand, they say what the page
says of them.
"""

import re
from pathlib import Path

import pytest

from test_docs import FENCE, rerun

PAGE = Path(__file__).parents[1] / "docs" / "errata.md"
TEXT = PAGE.read_text(encoding="utf-8")
ENTRY = re.compile(r"^### ([EC]00[0-4]-\d+): (.+)$", re.MULTILINE)
PROOF = re.compile(
    r"^([EC]00[0-4]-\d+): the paper (.+?), right (.+?)(?:, truecost (.+))?$", re.MULTILINE
)
PROOFS = PROOF.findall(TEXT)


def body(number: str) -> str:
    """What stands under the heading of an entry."""
    start = TEXT.index(f"### {number}:")
    return TEXT[start : TEXT.index("\n#", start + 1)]


def numbers() -> list[str]:
    return [number for number, _ in ENTRY.findall(TEXT)]


def test_numbers_are_those_of_the_paper_and_count_up():
    found = [*numbers(), *re.findall(r"^\*\*(A00[0-4]-\d+)\*\*", TEXT, re.MULTILINE)]
    for kind in "ECA":
        for paper in range(5):
            own = [n for n in found if n.startswith(f"{kind}00{paper}-")]
            assert own == [f"{kind}00{paper}-{k}" for k in range(1, len(own) + 1)]
    heading = ""
    for line in TEXT.splitlines():
        if paper := re.match(r"## .* \(number (\d{3})\)", line):
            heading = paper[1]
        if entry := ENTRY.match(line):
            assert entry[1][1:4] == heading


@pytest.mark.parametrize("number", numbers())
def test_every_entry_says_where_it_is_and_is_proved(number):
    text = body(number)
    assert re.search(r"^\*(Sections?|Appendix|Table) [^*]+\.?\*", text, re.MULTILINE)
    proved = [found[0] for found in PROOFS if found[0] in text]
    assert proved
    assert set(proved) == {number}
    assert f'>>> proof("{number}"' in text


@pytest.mark.parametrize("found", PROOFS, ids=lambda found: found[0])
def test_what_the_paper_has_is_not_what_is_right(found):
    _, paper, right, tool = found
    assert paper != right
    assert not tool or tool == right
    if bound := re.match(r"(at least|at most|above) (.+)", paper):
        way, limit = bound[1], float(bound[2])
        holds = {"at least": float(right) >= limit, "at most": float(right) <= limit}
        assert not holds.get(way, float(right) > limit)


def printed(folder, swapped: bool) -> list[str]:
    """The lines of all proofs as they come out now; with the paper's figures as the right ones."""
    names = {"__name__": "__main__"}
    found = ""
    for block in FENCE.finditer(TEXT):
        found += rerun(block, names, folder)
        if swapped and "proof" in names and not getattr(names["proof"], "wrong", False):
            told = names["proof"]

            def proof(number, paper, right, tool=None, told=told):
                told(number, paper, paper, tool)

            proof.wrong = True
            names["proof"] = proof
    return [match[0] for match in PROOF.finditer(found)]


def test_no_proof_holds_with_the_figure_of_the_paper_in_place_of_the_right_one(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    right, wrong = printed(tmp_path, swapped=False), printed(tmp_path, swapped=True)
    assert len(right) == len(wrong) == len(PROOFS)
    assert not set(right) & set(wrong)
    assert all(line in TEXT for line in right)


SAYS = {  # a few words of each place
    "E000-1": ("000", ["12,465,843", "We chose 9 target languages"]),
    "E000-2": ("000", ["16.975"]),
    "E000-3": ("000", ["typical definition of DCF", "$q = 3$"]),
    "E000-4": ("000", ["weightings are drastically different"]),
    "E001-1": ("001", ["NFP_B + \\beta NFP_{AB}", "accepted by model $B$ but not accepted by $A$"]),
    "E001-2": ("001", ["the overall *FPR* of 8%", "approximately 24%"]),
    "E001-3": ("001", ["FPs collected by model $B$", "1.08[1.05,1.10]", "0.56[0.54,0.57]"]),
    "E001-4": ("001", ["collect, respectively, 40% and 20% as TPs"]),
    "E001-5": ("001", ["such as Recall and FPR, cannot be computed and compared"]),
    "E001-6": ("001", ["is the expected model *FPR*"]),
    "C001-1": ("001", ["are, therefore, equivalent if"]),
    "C001-2": ("001", ["for multiple thresholds"]),
    "E002-1": ("002", ["SSF = 0.8"]),
    "E002-2": ("002", ["a real-time factor computed as the ratio of the total time"]),
    "C002-1": ("002", ["MTWV defines an upper bound for ATWV", "separately for each query"]),
    "C002-2": ("002", ["100 times as much weight as false alarms"]),
    "C002-3": ("002", ["The guess is optimistic"]),
    "C003-1": ("003", ["narrower than they should be"]),
    "E004-1": ("004", ["This is equivalent to setting E(n) to zero"]),
    "E004-2": ("004", ["lower bound of the DER score"]),
    "E004-3": ("004", ["to a non-existent speaker"]),
    "E004-4": ("004", ["computed as the fraction of speaker time"]),
    "E004-5": ("004", ["lower bound of the BLEU score", "n-gram counts in the hypothesis remain"]),
    "E004-6": ("004", ["\\sum_{t_i \\in [l_1; l_i]} S_{pen}(M_{ij}, t_j)"]),
    "E004-7": ("004", ["$l_1 < t_1 < l_T < t_N$"]),
    "C004-1": ("004", ["s(M_i, t_j) \\cdot"]),
    "C004-2": ("004", ["without loss of generality", "bounded from one side"]),
}


@pytest.mark.parametrize("number", numbers())
def test_the_paper_says_what_the_page_says_of_it(number, shared):
    paper, words = SAYS[number]
    assert paper == number[1:4]
    [path] = (shared / "papers").glob(f"{paper}_*.txt")
    text = " ".join(path.read_text(encoding="utf-8").replace("-\n", "").split())
    for said in words:
        assert said.replace("- ", "") in text.replace("- ", ""), said
