"""People who are scripts at tabs of a browser: what they see and answer, how long they take, and
whether a run has kept that.
"""

import gzip
import json
import operator
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from browser import PAINTED, until
from truecost.person.store import Store

GRAIN = 0.005  # seconds by which clocks and rounded figures may differ
THINKS = 0.1  # seconds
NEWS = f"""(before) => {{
  const pid = {PAINTED}, said = document.getElementById("status")?.innerText ?? "";
  const ended = ["All done.", "You have answered everything."].some((end) => said.startsWith(end));
  return pid && pid !== before ? pid : ended ? "ended" : null;
}}"""


class Told(NamedTuple):
    """An answer to an item, and seconds that the script knows it took at least and at most."""

    item: str
    label: Any
    least: float
    most: float


@dataclass
class Person:
    """Somebody at a tab: what came there from the server, and what was answered."""

    page: Any
    link: str
    replies: list[tuple[str, bytes]] = field(default_factory=list)  # address and content
    unread: list[str] = field(default_factory=list)  # addresses of replies without a content
    questions: dict[str, Any] = field(default_factory=dict)
    told: list[Told] = field(default_factory=list)
    asked: set[tuple[Any, ...]] = field(default_factory=set)
    pid: str = ""

    def __post_init__(self) -> None:
        self._came: list[Any] = []
        self.page.on("response", self._note)
        self._last = self._saw = time.perf_counter()
        self.page.goto(self.link)

    def _note(self, reply: Any) -> None:
        self._came.append(reply)

    def question(self) -> dict[str, Any] | None:
        """The next question, once it is on the screen; None when there are no more."""
        found = until(self.page, f"({NEWS})({json.dumps(self.pid)})", seconds=60)
        self._saw = time.perf_counter()
        self._read()
        self.pid = found
        return None if found == "ended" else self.questions[found]

    def sound(self) -> bytes:
        """The sound of the question, as it came."""
        address = self.questions[self.pid]["sound"]
        return next(content for place, content in self.replies if place.endswith(address))

    def answer(self, item: str, label: Any, *keys: str) -> None:
        """Think, and press keys, the last of which answers; nothing is asked twice."""
        question = self.questions[self.pid]
        what = (item, question.get("output"), question.get("base"))
        assert what not in self.asked
        self.asked.add(what)
        time.sleep(THINKS)
        for key in keys[:-1]:
            self.page.keyboard.press(key)
        pressed = time.perf_counter()
        self.page.keyboard.press(keys[-1])
        most = time.perf_counter() - self._last  # the next question may be there already
        self._last = pressed
        self.told.append(Told(item, label, pressed - self._saw, most))

    def _read(self) -> None:
        """What came since."""
        from playwright.sync_api import Error

        while self._came:
            reply = self._came.pop(0)
            try:
                content = reply.body()
            except Error:  # of a page that was left, or cut off by a kill
                self.unread.append(reply.url)
                continue
            self.replies.append((reply.url, content))
            if "/api/" in reply.url:
                said = json.loads(content)
                question = said.get("question") or (said.get("next") or {}).get("question")
                if question:
                    self.questions[question["pid"]] = question


def check(kept: list[dict[str, Any]], told: list[Told], same: Any = operator.eq) -> None:
    """What is kept is what the script answered, in no more and no less time than it took."""

    def fits(one: dict[str, Any], other: Told) -> bool:
        near = other.least - GRAIN <= one["active_seconds"] <= other.most + GRAIN
        return near and one["id"] == other.item and bool(same(one["label"], other.label))

    assert [one for one in kept if not any(fits(one, other) for other in told)] == []
    assert [other for other in told if not any(fits(one, other) for one in kept)] == []
    with Store("out/answers.sqlite") as store:
        assert len(store.answers()) == len(told)


def answers() -> list[dict[str, Any]]:
    """The answers in all logs of a run."""
    found = []
    for path in Path("out/logs").rglob("*.jsonl.gz"):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            found += [event for line in lines if (event := json.loads(line))["event"] == "answer"]
    return found


def values(place: str) -> dict[str, Any]:
    """The values of a result by measure; of several, the last."""
    rows = json.loads((Path(place) / "result.json").read_bytes())["rows"]
    return {row["measure"]: row["value"] for row in rows}


def write_table(place, heads, rows):
    """A table with commas."""
    lines = [",".join(map(str, row)) for row in [heads, *rows]]
    Path(place).write_text("\n".join(lines) + "\n")
