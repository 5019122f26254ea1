"""The tables of a store, the choice of the next question, and the opening of the file, whose faults
are all InputErrors.

`shown` is a lease of a question by a person until a time. `given` is the number of current answers
to a question, `wanted` the number that it needs (`truecost.person.records`). The next question is
found with the partial index `question_open`: sorting all questions under the lock of the writer was
forty times slower. Before the position that a person has `reached` there is no open question for
them, so that a person who is far ahead does not search all of their answers again. Rows of `tally`
are counters, which would otherwise be computed with every answer.
"""

import hashlib
import hmac
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, get_args

import msgspec

from truecost.errors import InputError
from truecost.person.records import (
    LARGEST,
    MOST,
    Asked,
    Kind,
    PageEvent,
    Presented,
    VisibleQuestion,
    settle,
)

APPLICATION, VERSION = 0x74727563, 3  # "truc", and the format of the tables
BUSY = 10.0  # seconds that a writer waits for another
LEASE = 600.0  # seconds that a question is kept for whom it is shown to, from the last event on
SCHEMA = """
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE person(hash TEXT PRIMARY KEY, name TEXT NOT NULL, kind TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE question(qid INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, kind TEXT NOT NULL,
    payload TEXT NOT NULL, hidden TEXT NOT NULL, address TEXT NOT NULL UNIQUE, media TEXT,
    image TEXT, span TEXT, overlap INTEGER NOT NULL, gold TEXT, batch INTEGER NOT NULL,
    rank INTEGER NOT NULL, asked REAL NOT NULL, state TEXT NOT NULL DEFAULT 'open',
    given INTEGER NOT NULL DEFAULT 0, wanted INTEGER NOT NULL);
CREATE INDEX question_open ON question(batch, rank) WHERE state = 'open' AND given < wanted;
CREATE TABLE shown(pid TEXT PRIMARY KEY, qid INTEGER NOT NULL REFERENCES question,
    person TEXT NOT NULL, session TEXT NOT NULL, t REAL NOT NULL, until REAL NOT NULL);
CREATE INDEX shown_question ON shown(qid, person, until);
CREATE INDEX shown_person ON shown(person, until);
CREATE TABLE answer(place INTEGER PRIMARY KEY, aid TEXT NOT NULL UNIQUE,
    qid INTEGER NOT NULL REFERENCES question, person TEXT NOT NULL, pid TEXT NOT NULL,
    revision INTEGER NOT NULL, label TEXT, verdict TEXT NOT NULL, refusal TEXT, words INTEGER,
    actions INTEGER, mono REAL, wall REAL, t REAL NOT NULL, current INTEGER NOT NULL DEFAULT 1);
CREATE UNIQUE INDEX answer_current ON answer(qid, person) WHERE current = 1;
CREATE INDEX answer_person ON answer(person, place) WHERE current = 1;
CREATE TABLE event(session TEXT NOT NULL, seq INTEGER NOT NULL, person TEXT NOT NULL, pid TEXT,
    kind TEXT NOT NULL, mono REAL NOT NULL, wall REAL NOT NULL, t REAL NOT NULL, data REAL,
    PRIMARY KEY(session, seq)) WITHOUT ROWID;
CREATE TABLE reached(person TEXT PRIMARY KEY, batch INTEGER NOT NULL, rank INTEGER NOT NULL)
    WITHOUT ROWID;
CREATE TABLE tally(name TEXT PRIMARY KEY, n INTEGER NOT NULL) WITHOUT ROWID
"""
BOUNDS = {"REAL": LARGEST, "INTEGER": MOST}
FORMS = {  # what further is wrong in a column
    ("meta", "value"): "NOT json_valid(value)",
    ("question", "kind"): f"kind NOT IN {get_args(Kind)}",
    **{("question", name): f"NOT json_valid({name})" for name in ("payload", "hidden", "span")},
}
PUT = """
INSERT INTO question(key, kind, payload, hidden, address, media, image, span, overlap, gold, batch,
    asked, wanted, rank) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT(key) DO UPDATE SET media = excluded.media, image = excluded.image,
    overlap = IIF(state = 'open', excluded.overlap, overlap),
    wanted = IIF(state = 'open' AND overlap <> excluded.overlap, excluded.wanted, wanted)"""
FREE = """
SELECT qid FROM question q INDEXED BY question_open
WHERE state = 'open' AND given < wanted AND (batch, rank) >= (:batch, :rank) AND qid <> :but
AND NOT EXISTS (SELECT 1 FROM answer a WHERE a.qid = q.qid AND a.person = :person AND a.current = 1)
AND given + (SELECT COUNT(DISTINCT s.person) FROM shown s
    WHERE s.qid = q.qid AND s.person <> :person AND s.until > :now) < wanted
ORDER BY batch, rank LIMIT :most"""
LEASED = """
SELECT s.qid FROM shown s INDEXED BY shown_person JOIN question q USING (qid)
WHERE s.person = :person AND s.until > :now AND q.state = 'open'
AND NOT EXISTS (SELECT 1 FROM answer a WHERE a.qid = s.qid AND a.person = :person AND a.current = 1)
ORDER BY s.rowid DESC LIMIT 1"""
REACHED = """
SELECT COALESCE(MAX(batch), -1), COALESCE(MAX(rank), -1) FROM reached WHERE person = :person"""
WAITING = """
SELECT batch, rank FROM question q INDEXED BY question_open
WHERE state = 'open' AND given < wanted AND (batch, rank) >= (:batch, :rank)
AND NOT EXISTS (SELECT 1 FROM answer a WHERE a.qid = q.qid AND a.person = :person AND a.current = 1)
ORDER BY batch, rank LIMIT 1"""
BACK = """
UPDATE reached SET (batch, rank) = (SELECT batch, rank FROM question WHERE qid = :qid)
WHERE (batch, rank) > (SELECT batch, rank FROM question WHERE qid = :qid)
AND NOT EXISTS (SELECT 1 FROM answer a
    WHERE a.qid = :qid AND a.person = reached.person AND a.current = 1)"""
ANSWERS = """
SELECT place, q.key, q.qid, q.kind, person, pid, revision, label, verdict, refusal, words, actions,
    gold, t, q.asked
FROM answer JOIN question q USING (qid) WHERE current = 1"""
ADVICE = {  # what to do, by the code of the fault
    sqlite3.SQLITE_FULL: "the disk is full: make room and continue; every acknowledged answer is "
    "kept",
    sqlite3.SQLITE_IOERR: "the disk cannot be written or read: make room, or repair it, and "
    "continue; every acknowledged answer is kept",
    sqlite3.SQLITE_BUSY: f"another process has been writing for {BUSY:g} s: end it and try again",
    sqlite3.SQLITE_READONLY: "may not be written: change its permissions",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened: check the folder and its permissions",
}
DAMAGED = (
    "is damaged, or is not a store of answers: restore a copy, or save the readable part with "
    "`sqlite3 FILE .recover`"
)


@contextmanager
def faults(path: Path) -> Iterator[None]:
    """Raise faults of the file as InputErrors."""
    try:
        yield
    except sqlite3.ProgrammingError:  # ours
        raise
    except sqlite3.DatabaseError as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        raise InputError(f"{path}: {ADVICE.get(code, DAMAGED)} ({error})") from error
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{path}: {DAMAGED} ({error})") from error


def connected(path: Path) -> sqlite3.Connection:
    """A connection to a store; its tables are created where there is no file yet, or an empty one.

    InputError where the file is of another kind or version, or damaged.
    """
    if path.is_dir() or not path.parent.is_dir():
        what = "is a folder" if path.is_dir() else "the folder is not there"
        raise InputError(f"{path}: {what}: expected the path of a store, such as answers.sqlite")
    # It holds the secret of the addresses; SQLite's other files have its permissions. A file that
    # is there is never opened: closing it would drop the locks of other connections of this
    # process, and another process that closes the store would remove the log of answers.
    with suppress(OSError):
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        path.chmod(0o600)
    with faults(path):
        db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=BUSY)
        try:
            _check(db, path)
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = FULL")  # what is acknowledged survives a power cut
            db.execute("PRAGMA foreign_keys = ON")
            db.execute("PRAGMA secure_delete = ON")  # what is forgotten leaves no bytes
            _made(db)
        except BaseException:
            db.close()
            raise
    return db


def _check(db: sqlite3.Connection, path: Path) -> None:
    """Refuse a file of another kind or version, and a damaged one, before anything is written."""
    application, version, objects = (
        db.execute(sql).fetchone()[0]
        for sql in (
            "PRAGMA application_id",
            "PRAGMA user_version",
            "SELECT COUNT(*) FROM sqlite_master",
        )
    )
    if not (application or version or objects):
        return
    if application != APPLICATION:
        raise InputError(f"{path}: is another kind of database: name a store of answers")
    if version != VERSION:
        raise InputError(
            f"{path}: is a store of format {version}, but this version of truecost reads format "
            f"{VERSION}: use the version that wrote it, or begin a new store"
        )
    said = db.execute("PRAGMA quick_check(1)").fetchone()[0]
    if said != "ok":
        raise InputError(f"{path}: {DAMAGED} ({said.splitlines()[-1]})")
    for table, sql in _queries():
        if db.execute(sql).fetchone():
            raise InputError(f"{path}: {DAMAGED} (the table {table} has an invalid value)")


@cache
def _queries() -> tuple[tuple[str, str], ...]:
    """For each table a query for a row with an invalid value: SQLite accepts any value in any
    column.
    """
    found = []
    with closing(sqlite3.connect(":memory:")) as db:
        db.executescript(SCHEMA)
        for (table,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'"):
            wrong = []
            for _, name, kind, needed, _, key in db.execute(f"PRAGMA table_info({table})"):
                null = "" if needed or key else ", 'null'"
                wrong.append(f"typeof({name}) NOT IN ('{kind.lower()}'{null})")
                wrong += [f"abs({name}) > {BOUNDS[kind]}"] if kind in BOUNDS else []
                wrong += [FORMS[table, name]] if (table, name) in FORMS else []
            found.append((table, f"SELECT 1 FROM {table} WHERE {' OR '.join(wrong)} LIMIT 1"))
    return tuple(found)


def _made(db: sqlite3.Connection) -> None:
    """Create the tables, unless they exist, in one transaction."""
    db.execute("BEGIN IMMEDIATE")
    try:
        if not db.execute("PRAGMA user_version").fetchone()[0]:
            for statement in SCHEMA.split(";"):
                db.execute(statement)
            pairs = [("secret", f'"{os.urandom(32).hex()}"'), ("id", f'"{os.urandom(4).hex()}"')]
            db.executemany("INSERT INTO meta VALUES(?, ?)", [*pairs, ("state", '"open"')])
            db.execute(f"PRAGMA application_id = {APPLICATION}")
            db.execute(f"PRAGMA user_version = {VERSION}")
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def tally(db: sqlite3.Connection, name: str, by: int) -> None:
    """Change a counter."""
    if by:
        db.execute(
            "INSERT INTO tally VALUES(?, ?) ON CONFLICT(name) DO UPDATE SET n = n + excluded.n",
            (name, by),
        )


def count_answers(db: sqlite3.Connection, qid: int, person: str, by: int) -> None:
    """Update the counts after a person gave or took back an answer to a question."""
    sql = "SELECT given, wanted FROM question WHERE qid = ?"
    before, needed = db.execute(sql, (qid,)).fetchone()
    given, wanted = settle(db, qid)
    if given < wanted:  # it may wait again for who has passed it
        db.execute(BACK, {"qid": qid})
    tally(db, "done", (given > 0) - (before > 0))
    tally(db, "full", (given >= wanted) - (before >= needed))
    tally(db, f"by {person}", by)


def waits(db: sqlite3.Connection, person: str) -> dict[str, Any]:
    """Position of the first open question that a person has not answered, `batch` and `rank`,
    whether or not others have a lease on it; None without one.
    """
    values = {"person": person} | reached(db, person)
    found = db.execute(WAITING, values).fetchone() or (None, None)
    return dict(zip(("batch", "rank"), found, strict=True))


def reached(db: sqlite3.Connection, person: str) -> dict[str, int]:
    """Position of a person: there is no open question for them before it."""
    found = db.execute(REACHED, {"person": person}).fetchone()
    return dict(zip(("batch", "rank"), found, strict=True))


def go_on(db: sqlite3.Connection, person: str) -> None:
    """Store the present position of a person; after all questions where none is open for them."""
    where = waits(db, person)
    if where["batch"] is None:
        [batch, rank] = db.execute("SELECT MAX(batch), MAX(rank) + 1 FROM question").fetchone()
        where = {"batch": batch, "rank": rank}
    if where["batch"] is not None and where != reached(db, person):
        db.execute("INSERT OR REPLACE INTO reached VALUES(?, ?, ?)", (person, *where.values()))


def open_to(db: sqlite3.Connection, person: str, now: float) -> tuple[int | None, int | None]:
    """The next question of a person, and the one after it."""
    values: dict[str, Any] = {"person": person, "now": now, "but": -1, "most": 2}
    values |= reached(db, person)
    leased = db.execute(LEASED, values).fetchone()
    if leased is not None:
        values |= {"but": leased[0], "most": 1}
    found = [*(leased or ()), *(qid for (qid,) in db.execute(FREE, values)), None, None]
    return found[0], found[1]


def end_leases(db: sqlite3.Connection, person: str, qid: int) -> None:
    """End the leases of a person on a question."""
    sql = "UPDATE shown SET until = 0 WHERE qid = ? AND person = ? AND until > 0"
    db.execute(sql, (qid, person))


def keep_events(
    db: sqlite3.Connection, person: str, session: str, events: Sequence[PageEvent], now: float
) -> None:
    """Store events; existing ones are left alone. The lease of the question in view is renewed: a
    person works on it for as long as its page sends events.
    """
    rows = [(session, e.seq, person, e.pid, e.kind, e.mono, e.wall, now, e.at) for e in events]
    sql = "INSERT INTO event VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
    db.executemany(sql, rows)
    in_view = events[-1].pid if events else None
    if in_view is not None:
        renew = "UPDATE shown SET until = ? WHERE pid = ? AND person = ? AND until > ?"
        db.execute(renew, (now + LEASE, in_view, person, now))


def presented(db: sqlite3.Connection, pid: str, qid: int, ahead: int | None) -> Presented:
    """The data of a question that the page gets."""
    sql = "SELECT key, kind, payload, address, media, image, span FROM question WHERE qid = ?"
    key, kind, payload, address, media, image, span = db.execute(sql, (qid,)).fetchone()
    coming = "SELECT address FROM question WHERE qid = ? AND media IS NOT NULL"
    start = msgspec.json.decode(span, type=tuple[float, float] | None)
    return Presented(
        pid=pid,
        qid=qid,
        key=key,
        kind=kind,
        seen=msgspec.json.decode(payload, type=VisibleQuestion),
        sound=address if media else None,
        image=address if image else None,
        start=start[0] if start else 0.0,
        ahead=next((found[0] for found in db.execute(coming, (ahead,))), None),
    )


def columns_of(asked: Asked, secret: bytes) -> tuple[Any, ...]:
    """A question as columns. Its address reveals nothing about it, and cannot be guessed."""
    parts = (msgspec.to_builtins(asked.seen), asked.hidden, asked.span)
    payload, hidden, span = (msgspec.json.encode(part).decode() for part in parts)
    address = hmac.digest(secret, asked.key.encode(), "sha256").hex()[:32]
    return (
        *(asked.key, asked.kind, payload, hidden, address, asked.media, asked.image, span),
        *(asked.overlap, asked.gold, asked.batch),
    )


def hashed(token: str) -> str:
    """The hash of a token, the stored form: readers of the file cannot use it to enter."""
    return hashlib.sha256(token.encode()).hexdigest()
