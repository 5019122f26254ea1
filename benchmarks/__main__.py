"""Run every benchmark: python -m benchmarks [--quick] [--only stream] [--write]."""

import argparse
from pathlib import Path

from benchmarks import (
    abba,
    diarization,
    files,
    intervals,
    large,
    lifelong,
    pages,
    person,
    person_seconds,
    points,
    protocol,
    ranked,
    sequences,
    stream,
    terms,
    translation,
)
from benchmarks.measuring import Row, first_calls, machine, table

README = Path(__file__).with_name("README.md")
BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"
PARTS = {  # that can be run alone
    "stream": stream.report,
    "lifelong": lifelong.report,
    "protocol": protocol.report,
    "pages": pages.report,
    "person": person.report,
    "person_seconds": person_seconds.report,
    "large": large.report,
    "ranked": ranked.report,
}
FIRST = {"nec": "NEC", "eer": "EER, convex hull", "points": "ROC + 4 measures"}


def report(interval_trials: int, point_trials: int, repeats: int, part: int = 1) -> str:
    """Everything that a run finds, in Markdown."""
    interval_rows, checks = intervals.rows(interval_trials, repeats)
    point_rows, memory, more = points.rows(point_trials, repeats)
    file_rows, agreed = files.rows(interval_trials, repeats)
    item_rows, same = _items(part, repeats)
    ratio_rows, ratios = abba.rows(interval_trials, interval_trials // 100)
    term_rows, whole, stages, found = terms.rows(part)
    first = [
        [name, *(f"{s:.2g} s" for s in first_calls(work, interval_trials))]
        for work, name in FIRST.items()
    ]
    heads = ["work", "truecost", "peer", "ratio", "target", "met"]
    return "\n\n".join(
        [
            "\n".join(f"- {line}" for line in machine()),
            f"95% intervals, 1,000 replicates, 1,000 speakers, {interval_trials:,} trials; peer: "
            f"confidence-intervals. Median of {repeats} repeats (least to greatest).",
            table(heads, [row.cells for row in interval_rows]),
            f"Points of {point_trials:,} trials; peer: scikit-learn's `roc_curve` alone.",
            table(heads, [row.cells for row in point_rows]),
            f"Reading and calibrating {interval_trials:,} trials; the peer is named in the row.",
            table(heads, [row.cells for row in file_rows]),
            "Sequences and times; peers: jiwer (errors), sacrebleu (BLEU, chrF), pyannote.metrics "
            "(DER, once: it takes minutes).",
            table(heads, [row.cells for row in item_rows]),
            "AB/BA from collected items, 2,000 replicates of all estimators; peer: a numpy loop of "
            f"the direct ratios alone, from {abba.OF_PEER} replicates.",
            table(heads, [row.cells for row in ratio_rows]),
            f"`truecost terms score` from files, {terms.REPLICATES:,} replicates, a process each "
            f"time: {300 // part} hours, {600 // part} files, 2,000 queries, about "
            f"{40_000 // part:,} occurrences.",
            table(terms.HEADS, whole),
            f"Its steps for {terms.DETECTIONS // part:,} detections, from Python.",
            table(["step", "wall", "CPU"], stages),
            "Terms at a tenth of the detections; the peer is named in the row.",
            table(heads, [row.cells for row in term_rows]),
            *(_marked(name, run(part)) for name, run in PARTS.items()),
            "Peak of memory above the inputs, and what the result keeps.",
            table(["scores", "truecost", "peer", "ratio", "target", "met"], memory),
            f"First call in a new process, import included, {interval_trials:,} trials.",
            table(["work", "kernels to compile", "kernels on disk"], first),
            "Checked in this run:",
            "\n".join(f"- {line}" for line in checks + more + agreed + same + ratios + found),
        ]
    )


def _items(part: int, repeats: int) -> tuple[list[Row], list[str]]:
    """Transcripts, translation and diarization, at their sizes or a part of them."""
    found = (
        sequences.rows(10_000 // part, repeats),
        translation.rows(30_000 // part, 3),
        diarization.rows(100 // part, 500, 1),
    )
    return [row for rows, _ in found for row in rows], [line for _, said in found for line in said]


def main() -> None:
    """Run, print and, if asked, write."""
    options = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    options.add_argument("--quick", action="store_true", help="a tenth of the trials: a trial run")
    options.add_argument("--write", action="store_true", help="put the outcome into README.md")
    options.add_argument("--only", choices=[*PARTS], help="one part; it lies within the others")
    chosen = options.parse_args()
    if chosen.quick and chosen.write:
        options.error("--write needs the full run: leave --quick out")
    if chosen.only:
        found = _later(chosen.only, PARTS[chosen.only](10 if chosen.quick else 1))
    elif chosen.quick:
        found = report(100_000, 1_000_000, 5, 10)
    else:
        found = report(1_000_000, 10_000_000, 7)
    print(found)
    if chosen.write:
        _write(found, *(_marks(chosen.only) if chosen.only else (BEGIN, END)))


def _marks(name: str) -> tuple[str, str]:
    """What stands around a part of README.md."""
    return f"<!-- {name}: begin -->", f"<!-- {name}: end -->"


def _marked(name: str, found: str) -> str:
    """A part between its marks."""
    begin, end = _marks(name)
    return f"{begin}\n{found}\n{end}"


def _later(name: str, found: str) -> str:
    """A part that was run by itself, with the machine that it ran on."""
    machines = "\n".join(f"- {line}" for line in machine())
    return f"The tables of {name} are of a run of their own:\n\n{machines}\n\n{found}"


def _write(found: str, begin: str, end: str) -> None:
    """Put what was found between two marks of README.md."""
    before, rest = README.read_text().split(begin)
    README.write_text(f"{before}{begin}\n{found}\n{end}{rest.split(end)[1]}")


if __name__ == "__main__":
    main()
