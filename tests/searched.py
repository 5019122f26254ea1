"""A small search for terms, made up: what was said, what is looked for, and what systems found."""

from pathlib import Path

import numpy as np

WORDS = ("yes", "no", "maybe", "never", "always", "today", "tomorrow", "here")
OTHERS = tuple(f"w{k}" for k in range(24))  # are said, and not looked for
TERMS = {  # the last two are never said
    **{f"K{k + 1:02}": word for k, word in enumerate(WORDS[:6])},
    "K07": "yes no",
    "K08": "no yes",
    "K09": "maybe never",
    "K10": "today today",
    "K11": "elsewhere",
    "K12": "here elsewhere",
}
DOCUMENTS = {"a1": "bn", "a2": "bn", "b1": "cts", "b2": "cts"}
SECONDS = 120.0
REFERENCE = "--ecf e.ecf.xml --rttm r.rttm --kwlist t.kwlist.xml"
FAST = "--replicates 200"


def said(seed=1):
    """Words by document: (start, duration, word)."""
    rng = np.random.default_rng(seed)
    return {
        document: [
            (0.5 + k * 0.6, 0.4, str(rng.choice(WORDS + OTHERS)))
            for k in range(int(SECONDS / 0.6) - 2)
        ]
        for document in DOCUMENTS
    }


def occurrences(words):
    """Where the terms occur: (query, document, start, end)."""
    found = []
    for document, heard in words.items():
        for query, term in TERMS.items():
            parts = term.split()
            for k in range(len(heard) - len(parts) + 1):
                if [word for _, _, word in heard[k : k + len(parts)]] == parts:
                    last = heard[k + len(parts) - 1]
                    found.append((query, document, heard[k][0], last[0] + last[1]))
    return found


def detections(seed=2, separation=4.0, share=0.9, false=60):
    """What a system found: (query, document, start, duration, score, decision)."""
    rng = np.random.default_rng(seed)
    found = []
    for query, document, start, end in occurrences(said()):
        if rng.random() < share:
            score = rng.normal(separation / 2, 1)
            found.append((query, document, start + rng.normal(0, 0.05), end - start, score))
    for _ in range(false):
        query, document = str(rng.choice([*TERMS])), str(rng.choice([*DOCUMENTS]))
        start = rng.uniform(0, SECONDS - 1)
        found.append((query, document, start, 0.4, rng.normal(-separation / 2, 1)))
    return [(*row, "YES" if row[4] > 0 else "NO") for row in found]


def kwslist(rows, queries=tuple(TERMS)):
    """The text of a list of detections."""
    lines = ['<kwslist kwlist_filename="t.kwlist.xml" language="english" system_id="made">']
    for query in queries:
        lines.append(f'<detected_kwlist kwid="{query}" search_time="1" oov_count="0">')
        lines += [
            f'<kw file="{document}" channel="1" tbeg="{max(start, 0):.3f}" dur="{duration:.3f}" '
            f'score="{score:.5f}" decision="{decision}"/>'
            for asked, document, start, duration, score, decision in rows
            if asked == query
        ]
        lines.append("</detected_kwlist>")
    return "\n".join([*lines, "</kwslist>", ""])


def ecf():
    """The text of the list of the audio."""
    excerpts = (
        f'<excerpt audio_filename="audio/{name}.wav" channel="1" tbeg="0.000" '
        f'dur="{SECONDS:.3f}" source_type="{source}"/>'
        for name, source in DOCUMENTS.items()
    )
    return "\n".join(
        [
            '<ecf source_signal_duration="480" language="english" version="1">',
            *excerpts,
            "</ecf>",
            "",
        ]
    )


def kwlist():
    """The text of the list of queries, with an attribute."""
    lines = [
        '<kwlist ecf_filename="e.ecf.xml" version="1" language="english" encoding="UTF-8" '
        'compareNormalize="lowercase">'
    ]
    for query, term in TERMS.items():
        words = len(term.split())
        lines.append(
            f'<kw kwid="{query}"><kwtext>{term}</kwtext><kwinfo><attr><name>words</name>'
            f"<value>{words}</value></attr></kwinfo></kw>"
        )
    return "\n".join([*lines, "</kwlist>", ""])


def rttm():
    """The text of what was said."""
    lines = []
    for document, heard in said().items():
        lines.append(f"SPEAKER {document} 1 0.000 {SECONDS:.3f} <NA> <NA> {document}-s <NA>")
        lines += [
            f"LEXEME {document} 1 {start:.3f} {duration:.3f} {word} lex {document}-s 0.9"
            for start, duration, word in heard
        ]
    return "\n".join([*lines, ""])


def written(folder):
    """All files in a folder: the reference, three systems, and the occurrences as a table."""
    folder = Path(folder)
    (folder / "e.ecf.xml").write_text(ecf())
    (folder / "t.kwlist.xml").write_text(kwlist())
    (folder / "r.rttm").write_text(rttm())
    listed = ("{},{},{:.3f},{:.3f}".format(*row) for row in occurrences(said()))
    (folder / "o.csv").write_text("\n".join(["query,document,start,end", *listed, ""]))
    (folder / "submissions").mkdir()
    for name, how in {
        "good": {"separation": 6.0},
        "fair": {"seed": 3, "share": 0.7},
        "poor": {"seed": 4, "separation": 1.0, "share": 0.4},
    }.items():
        text = kwslist(detections(**how))
        (folder / "submissions" / f"{name}.kwslist.xml").write_text(text)
    (folder / "s.kwslist.xml").write_text((folder / "submissions/fair.kwslist.xml").read_text())
    return folder
