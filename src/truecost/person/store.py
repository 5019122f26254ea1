"""One SQLite file with questions, presentations, answers and raw events: the only thing that a run
and the page have in common.

Every write is one transaction that begins as a writer; `synchronous=FULL` keeps acknowledged data
through a kill and a power cut. A question is never asked again: `put` identifies questions by their
keys, and an answer by the `aid` that the page made for it.
"""

import os
import random
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any, Self

import msgspec

from truecost.person.records import (
    Asked,
    Given,
    Logged,
    Order,
    PageEvent,
    Presentation,
    Presented,
    Progress,
    Row,
    VisibleQuestion,
    settle_all,
)
from truecost.person.tables import (
    ANSWERS,
    LEASE,
    PUT,
    columns_of,
    connected,
    count_answers,
    end_leases,
    faults,
    go_on,
    hashed,
    keep_events,
    open_to,
    presented,
    tally,
    waits,
)

__all__ = [
    "Asked",
    "Given",
    "Logged",
    "PageEvent",
    "Presentation",
    "Presented",
    "Progress",
    "Row",
    "Store",
    "VisibleQuestion",
]

PORTION = 5000  # questions that are written at a time
COUNTED = "SELECT COUNT(*) FROM question"
TEXTS = ("state", "kind", "origin", "id", "secret", "list")
NOTED = {"people": list[str], "idle": float, "tail": float, "port": int}  # types of notes


class Store:
    """The questions and answers of a run; a context manager. Several threads may use it.

    Parameters
    ----------
    path : str or Path
        The file, made where it is not there. InputError when it is damaged or something else.

    Examples
    --------
    >>> import tempfile
    >>> from truecost.person.store import Asked, Given, Store
    >>> folder = tempfile.TemporaryDirectory()
    >>> with Store(f"{folder.name}/answers.sqlite") as store:
    ...     store.put([Asked(key="clip 1", kind="classes", payload={"ask": "Yes or no?"})])
    ...     shown = store.next("ann", session="s")
    ...     store.answer("ann", Given(aid="a", pid=shown.pid, label="yes"))
    ...     store.answers()[0].label
    'new'
    'yes'
    >>> folder.cleanup()
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._lock = threading.Lock()
        self._db = connected(self.path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; nothing is lost without this call."""
        with self._lock:
            self._db.close()

    # What the run says and asks

    def put(self, questions: Sequence[Asked], order: Order = "given") -> None:
        """Add questions after the existing ones. For a question whose key exists, only the number
        of people who shall answer and the places of its sound and image are updated.

        `order`: `shuffled` mixes the questions of this call, in the same way each time. The first
        of many can be answered while the others are written.
        """
        sorted_ = [*questions]
        if order == "shuffled":
            random.Random(0).shuffle(sorted_)
        secret, now = bytes.fromhex(self.meta("secret")), time.time()
        [[rank]] = self._rows("SELECT COALESCE(MAX(rank), -1) + 1 FROM question")
        for first in range(0, len(sorted_), PORTION):
            portion = sorted_[first : first + PORTION]
            rows = [(*columns_of(question, secret), now, question.overlap) for question in portion]
            with self._writing() as db:
                [before] = db.execute(COUNTED).fetchone()
                db.executemany(PUT, ((*row, k) for k, row in enumerate(rows, rank + first)))
                tally(db, "total", db.execute(COUNTED).fetchone()[0] - before)
                if first + PORTION >= len(sorted_):
                    settle_all(db)

    def take_all(self, keys: Sequence[str]) -> bool:
        """Mark questions as taken by the system, all or none: it has learnt from their answers,
        which stay. False where a question is missing, or needs an answer, as after `undo`.
        """
        taken = "UPDATE question SET state = 'taken' WHERE key = ? AND given >= wanted"
        with self._writing() as db:
            found = all(db.execute(taken, (key,)).rowcount for key in keys)
            if not found:
                db.execute("ROLLBACK")
                db.execute("BEGIN IMMEDIATE")
            return found

    def hidden(self) -> dict[str, Any]:
        """The hidden data of questions, by key, in the order of the questions."""
        rows = self._rows("SELECT key, hidden FROM question ORDER BY batch, rank")
        with faults(self.path):
            return {key: msgspec.json.decode(text) for key, text in rows}

    def answers(self, key: str | None = None) -> list[Row]:
        """Current answers to one question or to all, in the order of questions and answers."""
        one = " AND q.key = ?" if key is not None else ""
        sql = f"{ANSWERS}{one} ORDER BY q.batch, q.rank, answer.place"
        found = self._rows(sql, *([key] if key is not None else []))
        with faults(self.path):
            rows = [dict(zip(Row.__struct_fields__, row, strict=True)) for row in found]
            return msgspec.convert(rows, list[Row])

    def progress(self) -> Progress:
        """Numbers of questions: all, with an answer, with all answers that they need."""
        found = dict(self._rows("SELECT name, n FROM tally WHERE name NOT LIKE 'by %'"))
        return Progress(*(found.get(name, 0) for name in Progress._fields))

    def latest(self) -> int:
        """Number of the latest answer; it only grows."""
        return int(self._rows("SELECT COALESCE(MAX(place), 0) FROM answer")[0][0])

    def answered_by(self, person: str) -> int:
        """Current answers of a person."""
        found = self._rows("SELECT n FROM tally WHERE name = ?", f"by {person}")
        return found[0][0] if found else 0

    def meta(self, key: str, default: Any = None) -> Any:
        """The stored note of a name. `state` is open, done, stopped or failed."""
        found = self._rows("SELECT value FROM meta WHERE key = ?", key)
        with faults(self.path):
            kind: Any = str if key in TEXTS else NOTED.get(key, Any)
            return msgspec.json.decode(found[0][0], type=kind) if found else default

    def set_meta(self, **pairs: Any) -> None:
        """Store notes, JSON values by name."""
        rows = [(key, msgspec.json.encode(value).decode()) for key, value in pairs.items()]
        with self._writing() as db:
            db.executemany("INSERT OR REPLACE INTO meta VALUES(?, ?)", rows)

    # What the page shows and sends

    def next(self, person: str, session: str) -> Presented | None:
        """A new presentation: of the question that a person has a lease on, otherwise of the first
        one with room, whose answers and leases of others are fewer than it needs. None: there is
        none now.
        """
        now = time.time()
        with self._writing() as db:
            go_on(db, person)
            qid, ahead = open_to(db, person, now)
            if qid is None:
                return None
            pid = self._show(db, qid, person, session, now)
            return presented(db, pid, qid, ahead)

    def ready(self, person: str) -> bool:
        """Whether `next` has a question, without a lease."""
        with self._reading() as db:
            return open_to(db, person, time.time())[0] is not None

    def waits(self, person: str) -> bool:
        """Whether a question will have room for a person if leases of others end."""
        with self._reading() as db:
            return waits(db, person)["batch"] is not None

    def answer(
        self, person: str, given: Given, session: str = "", events: Sequence[PageEvent] = ()
    ) -> str:
        """Store an answer, and the events of a session that came with it.

        Returns
        -------
        str
            "new"; "same" when it is there already, "conflict" when its `aid` is there with other
            content; "unknown" when this was not shown to the person; "taken" when the system has
            learnt from it; "answered" when the person has answered it: `undo` comes first.
        """
        now = time.time()
        with self._writing() as db:
            keep_events(db, person, session, events, now)
            known = db.execute(
                "SELECT person, pid, label, verdict, refusal FROM answer WHERE aid = ?",
                (given.aid,),
            ).fetchone()
            if known is not None:
                said = (person, given.pid, given.label, given.verdict, given.refusal)
                return "same" if known == said else "conflict"
            found = db.execute(
                "SELECT qid, state FROM shown JOIN question USING (qid) "
                "WHERE pid = ? AND person = ?",
                (given.pid, person),
            ).fetchone()
            if found is None:
                return "unknown"
            qid, state = found
            mine = "SELECT COUNT(*), SUM(current) FROM answer WHERE qid = ? AND person = ?"
            revision, current = db.execute(mine, (qid, person)).fetchone()
            if state == "taken" or current:
                return "taken" if state == "taken" else "answered"
            end_leases(db, person, qid)
            row = (given.aid, qid, person, given.pid, revision, given.label, given.verdict)
            more = (given.refusal, given.words, given.actions, given.mono, given.wall, now)
            db.execute(
                "INSERT INTO answer(aid, qid, person, pid, revision, label, verdict, refusal, "
                "words, actions, mono, wall, t) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (*row, *more),
            )
            count_answers(db, qid, person, 1)
            return "new"

    def undo(self, person: str) -> str:
        """Undo the last answer of a person, who gets a new lease on the question: "undone"; "taken"
        when the system has learnt from it, "nothing" when there is none.
        """
        now = time.time()
        with self._writing() as db:
            last = db.execute(
                "SELECT place, qid, pid, state FROM answer JOIN question USING (qid) "
                "WHERE person = ? AND current = 1 ORDER BY place DESC LIMIT 1",
                (person,),
            ).fetchone()
            if last is None or last[3] == "taken":
                return "nothing" if last is None else "taken"
            place, qid, pid, _ = last
            db.execute("UPDATE answer SET current = 0 WHERE place = ?", (place,))
            count_answers(db, qid, person, -1)
            db.execute("UPDATE shown SET until = 0 WHERE person = ? AND until > 0", (person,))
            db.execute("UPDATE shown SET until = ? WHERE pid = ?", (now + LEASE, pid))
            return "undone"

    def events(self, person: str, session: str, events: Sequence[PageEvent]) -> None:
        """Store raw events; existing ones are left alone."""
        with self._writing() as db:
            keep_events(db, person, session, events, time.time())

    def media(self, address: str) -> tuple[str | None, str | None, tuple[float, float] | None]:
        """Sound, picture and stretch of the sound of an address; None without any."""
        sql = "SELECT media, image, span FROM question WHERE address = ?"
        for sound, image, span in self._rows(sql, address):
            return sound, image, msgspec.json.decode(span, type=tuple[float, float] | None)
        return None, None, None

    def asked(self, pid: str) -> tuple[str, VisibleQuestion] | None:
        """Kind of the question of a presentation, and the payload that the page got."""
        sql = "SELECT kind, payload FROM shown JOIN question USING (qid) WHERE pid = ?"
        for kind, payload in self._rows(sql, pid):
            return kind, msgspec.json.decode(payload, type=VisibleQuestion)
        return None

    # Who answers

    def launch(self, person: str) -> str:
        """A token that opens one browser for a person; an earlier unused one becomes invalid."""
        token = os.urandom(24).hex()
        with self._writing() as db:
            db.execute("DELETE FROM person WHERE name = ? AND kind = 'launch'", (person,))
            db.execute("INSERT INTO person VALUES(?, ?, 'launch')", (hashed(token), person))
        return token

    def redeem(self, token: str) -> tuple[str, str] | None:
        """The person of a token, and a cookie; once, then None. Earlier cookies stay valid."""
        cookie = os.urandom(24).hex()
        used = "UPDATE person SET kind = 'used' WHERE hash = ? AND kind = 'launch' RETURNING name"
        with self._writing() as db:
            found = db.execute(used, (hashed(token),)).fetchall()
            if not found:
                return None
            db.execute("INSERT INTO person VALUES(?, ?, 'cookie')", (hashed(cookie), found[0][0]))
        return found[0][0], cookie

    def who(self, secret: str | None, kind: str = "cookie") -> str | None:
        """The person of a cookie, or of a token that was used."""
        sql = "SELECT name FROM person WHERE hash = ? AND kind = ?"
        found = self._rows(sql, hashed(secret), kind) if secret else []
        return found[0][0] if found else None

    def everybody(self) -> list[str]:
        """The people who answer, and former ones who have given answers."""
        sql = (
            "SELECT name FROM person UNION SELECT person FROM shown UNION SELECT person FROM answer"
        )
        return sorted({*self.meta("people", []), *(name for (name,) in self._rows(sql))})

    def forget(self, person: str) -> None:
        """Delete events, presentations and tokens of a person; the answers stay, with the name."""
        with self._writing() as db:
            for table, column in (("event", "person"), ("shown", "person"), ("person", "name")):
                db.execute(f"DELETE FROM {table} WHERE {column} = ?", (person,))
        with self._reading() as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # else the log of the file keeps them

    # What seconds are measured from

    def history(self) -> list[list[Logged]]:
        """The events of each session, in their order."""
        rows = self._rows(f"SELECT {', '.join(Logged._fields)} FROM event ORDER BY session, seq")
        events = map(Logged._make, rows)
        return [[*session] for _, session in groupby(events, attrgetter("session"))]

    def presentations(self) -> list[Presentation]:
        """The presentations of questions, in the order of time."""
        fields = ", ".join(Presentation._fields)
        sql = f"SELECT {fields} FROM shown JOIN question USING (qid) ORDER BY shown.rowid"
        return [Presentation(*row) for row in self._rows(sql)]

    # Transactions

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with self._lock, faults(self.path):
            yield self._db

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction; one that began as a reader would be refused instead of waiting."""
        with self._reading() as db:
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise

    def _rows(self, sql: str, *values: Any) -> list[Any]:
        with self._reading() as db:
            return db.execute(sql, values).fetchall()

    @staticmethod
    def _show(db: sqlite3.Connection, qid: int, person: str, session: str, now: float) -> str:
        """A new presentation with a lease; older leases of the person on the question end."""
        end_leases(db, person, qid)
        pid = os.urandom(9).hex()
        row = (pid, qid, person, session, now, now + LEASE)
        db.execute("INSERT INTO shown VALUES(?, ?, ?, ?, ?, ?)", row)
        return pid
