"""When a question has its answers, and what they decide: one rule for lists and live runs.

A question wants as many people as its overlap says. Where they are divided, one more is wanted, as
long as there are people; who changes their mind may end that, and nobody more is wanted then. A
question with a known answer wants everybody. Numbers never divide people: their median holds.
"""

import sqlite3
from collections import Counter
from collections.abc import Sequence
from statistics import median
from typing import Any

import msgspec

from truecost.person.records import Row


def majority(answers: Sequence[Any]) -> Any:
    """What most people answered; None where they are divided, or nobody answered."""
    most = Counter(answers).most_common(2)
    divided = len(most) > 1 and most[0][1] == most[1][1]
    return most[0][0] if most and not divided else None


def answer_of(row: Row) -> tuple[str | None, str]:
    """What somebody answered, a label or a verdict; neither where it was refused."""
    return row.label, row.verdict


def decided(rows: Sequence[Row]) -> tuple[str | None, str] | None:
    """What the answers to a question decide, a label or a verdict: what most say, or the median of
    numbers; None where people are divided, or nobody answered.
    """
    if not rows or rows[0].kind != "number":
        most: tuple[str | None, str] | None = majority([answer_of(row) for row in rows])
        return most
    numbers = [float(row.label) for row in rows if row.label is not None]
    return (repr(median(numbers)).removesuffix(".0") if numbers else None), ""


def count_divided(rows: Sequence[Row]) -> int:
    """Questions about which people are divided."""
    found: dict[int, list[Row]] = {}
    for row in rows:
        found.setdefault(row.qid, []).append(row)
    return sum(decided(of) is None for of in found.values())


def count_people(db: sqlite3.Connection) -> int:
    """How many people answer, as the store notes it; 0 where it does not."""
    found = db.execute("SELECT value FROM meta WHERE key = 'people'").fetchone()
    return len(msgspec.json.decode(found[0])) if found else 0


def people_wanted(
    kind: str, overlap: int, gold: str | None, people: int, answers: Sequence[Any]
) -> int:
    """How many people shall answer a question that has these answers."""
    if gold is not None:
        return max(overlap, people)
    divided = kind != "number" and len(answers) >= overlap and majority(answers) is None
    return len(answers) + 1 if divided and len(answers) < people else overlap


def settle(db: sqlite3.Connection, qid: int) -> tuple[int, int]:
    """Note how many people shall answer a question, and how many did; these two numbers."""
    kind, overlap, gold = db.execute(
        "SELECT kind, overlap, gold FROM question WHERE qid = ?", (qid,)
    ).fetchone()
    sql = "SELECT label, verdict FROM answer WHERE qid = ? AND current = 1"
    answers = db.execute(sql, (qid,)).fetchall()
    wanted = people_wanted(kind, overlap, gold, count_people(db), answers)
    found = (len(answers), wanted)
    db.execute("UPDATE question SET given = ?, wanted = ? WHERE qid = ?", (*found, qid))
    return found


def settle_all(db: sqlite3.Connection) -> None:
    """The same of all open questions whose overlap or whose people may be others than before."""
    known = "UPDATE question SET wanted = MAX(overlap, ?) WHERE state = 'open' AND gold IS NOT NULL"
    db.execute(known, (count_people(db),))
    several = "SELECT qid FROM question WHERE state = 'open' AND gold IS NULL AND given > 1"
    for (qid,) in db.execute(several).fetchall():
        settle(db, qid)
    full = (
        "INSERT OR REPLACE INTO tally SELECT 'full', COUNT(*) FROM question WHERE given >= wanted"
    )
    db.execute(full)
    db.execute("DELETE FROM reached")  # any question may wait for anybody again
