"""Answers about regions of recordings: the turns that were added, and those that changed."""

from collections.abc import Sequence
from itertools import pairwise

from truecost.corrections.kinds import joined, put_in_place
from truecost.corrections.texts import Turn, region_of, text_of, turns_of
from truecost.speech.spans import MICRO

SLIVER = MICRO // 1000  # microseconds that are no change: the page rounds


def inside(text: str, start: int, end: int) -> list[Turn]:
    """The turns of a region, cut at its ends."""
    cut = ((max(t.start, start), min(t.end, end), t.speaker) for t in turns_of(text))
    return [Turn(*one) for one in cut if one[0] < one[1]]


def changed(
    output: str, label: str | None, within: tuple[float, float], told: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Regions in microseconds, in order, where the speakers differ from the output and there is no
    answer yet; nothing where the answer was refused.
    """
    if label is None:
        return []
    first, last = (round(edge * MICRO) for edge in within)
    sides = [inside(text, first, last) for text in (output, label)]
    ends = {edge for side in sides for turn in side for edge in turn[:2]}
    edges = sorted({first, last, *ends, *(edge for region in told for edge in region)})
    found: list[tuple[int, int]] = []
    for start, end in pairwise(edge for edge in edges if first <= edge <= last):
        one, other = ({t.speaker for t in side if t[0] < end and start < t[1]} for side in sides)
        if one == other or any(a < end and start < b for a, b in told):
            continue
        after = found and found[-1][1] == start
        found.append((found.pop()[0] if after else start, end))
    return [(start, end) for start, end in found if end - start > SLIVER]


def put_in(output: str, label: str, part: str) -> tuple[str, int, int]:
    """The speakers of a region from an answer; turns that were added and changed there."""
    from truecost.learning.lifelong.person import all_of, turns_changed

    region = part or all_of(output, label)
    start, end = region_of(region)
    told = inside(label, start, end)
    right = text_of(put_in_place(turns_of(output), told, start, end))
    return text_of(joined(told)), *turns_changed(output, right, region)
