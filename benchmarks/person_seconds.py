"""Seconds of a person: a script answers on the page of `truecost annotate` in a real Chromium, is
away at known times, and so knows how long it has worked; what was measured stands beside it.

The browser and the server are stopped, killed and started again as the scenarios say.
"""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from benchmarks.measuring import table
from truecost.person.expert import seconds_by
from truecost.person.seconds import Timing
from truecost.person.store import Store

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from browser import PAINTED, alone  # type: ignore[import-not-found]
from robots import Running, clip  # type: ignore[import-not-found]

IDLES = (4.0, 30.0)  # seconds
STEP = 0.8  # seconds between two keys of somebody who works
SOUND, HEARS = 10.0, 11.0  # seconds of a sound, and in which nothing else is done
HEARD = f"a sound of {SOUND:g} s, no key"
HEADS = ["scenario", "true working time", *(f"active, idle {idle:g} s" for idle in IDLES), "wall"]
AHEAD = "() => { const now = Date.now; Date.now = () => now() + 3600e3; }"
HOW = "--classes yes,no --audio sound --order given"


@dataclass
class Person:
    """Who works, from when a question is seen to the answer but for the time `away`."""

    page: Any  # the tab in front
    browser: int  # the group of its processes
    command: list[str]
    ending: ExitStack
    server: Any = None
    seen: str = ""
    began: float = 0.0
    rest: float = 0.0

    def serve(self, *more: str) -> str:
        """Start the command; its link."""
        self.server = Running(*self.command, *more)
        self.ending.callback(self.server.kill)
        return str(self.server.links()["me"])

    def work(self, happens: "Scenario") -> float:
        """Answer the next question; seconds of work."""
        until(lambda: self.page.evaluate(PAINTED) not in (None, self.seen))
        self.began, self.rest = time.perf_counter(), 0.0
        self.act(happens.before)
        happens.then(self)
        self.act(happens.after)
        self.seen = self.page.evaluate(PAINTED)
        worked = time.perf_counter() - self.began - self.rest
        self.page.keyboard.press("1")
        happens.later(self)
        return worked

    def act(self, seconds: float, key: str = "Shift", step: float = STEP) -> None:
        """Press a key, again and again; Shift means nothing to the page."""
        end = time.perf_counter() + seconds
        while (left := end - time.perf_counter()) > 0:
            self.page.keyboard.press(key)
            time.sleep(min(step, left))

    @contextmanager
    def away(self, *, elsewhere: bool = False) -> Iterator[None]:
        """Time that is no work; `elsewhere`: in another tab."""
        left = time.perf_counter()
        if elsewhere:
            self.page.context.new_page().bring_to_front()
        yield
        self.page.bring_to_front()
        self.rest += time.perf_counter() - left


def until(work: Callable[[], Any]) -> None:
    """Wait until a function gives something true."""
    end = time.perf_counter() + 30
    while not work():
        if time.perf_counter() > end:
            raise TimeoutError
        time.sleep(0.01)


def _leave(person: Person, seconds: float, *, elsewhere: bool = False) -> None:
    with person.away(elsewhere=elsewhere):
        time.sleep(seconds)


def _freeze(person: Person) -> None:
    tools = person.page.context.new_cdp_session(person.page)
    with person.away(elsewhere=True):
        tools.send("Page.setWebLifecycleState", {"state": "frozen"})
        time.sleep(20)
        tools.send("Page.setWebLifecycleState", {"state": "active"})


def _sleep(person: Person) -> None:
    with person.away():
        for number, seconds in ((signal.SIGSTOP, 20), (signal.SIGCONT, 0)):
            os.killpg(person.browser, number)
            person.server.process.send_signal(number)
            time.sleep(seconds)


def _go_on(person: Person) -> None:
    with person.away():
        address, person.page = person.page.url, person.page.context.new_page()
        person.page.goto(address)
        person.page.wait_for_selector("#claim")
    person.page.click("#claim")
    until(lambda: person.page.evaluate(PAINTED))


def _plug(person: Person, *, out: bool = False) -> None:
    time.sleep(0 if out else 6)
    person.page.context.set_offline(out)


def _kill(person: Person) -> None:
    person.server.kill()
    person.act(2)
    person.serve("--resume")


class Scenario(NamedTuple):
    """Seconds of work before and after something happens; `later`: behind the answer."""

    before: float
    then: Callable[[Person], None] = lambda _: None
    after: float = 0.0
    later: Callable[[Person], None] = lambda _: None


SCENARIOS = {
    "steady": Scenario(6),
    "idle tab, 12 s": Scenario(3, partial(_leave, seconds=12), 2),
    "another tab, 8 s": Scenario(3, partial(_leave, seconds=8, elsewhere=True), 2),
    HEARD: Scenario(1, partial(Person.act, seconds=HEARS, key=" ", step=HEARS), 0.5),
    "frozen, 20 s": Scenario(3, _freeze, 2),
    "browser and server asleep, 20 s": Scenario(3, _sleep, 2),
    "continues in a second tab": Scenario(3, _go_on, 3.2),
    "answered without a connection": Scenario(3, lambda p: _plug(p, out=True), 4, _plug),
    "server killed and started again": Scenario(3, _kill, 2),
    "system clock set 1 h ahead": Scenario(2, lambda p: p.page.evaluate(AHEAD), 3),  # for good
}


def report(part: int) -> str:
    """A table in Markdown, with all scenarios or a part of them."""
    names = [*SCENARIOS][: max(1, len(SCENARIOS) // part)]
    with TemporaryDirectory() as folder:
        truth = _played(names, Path(folder))
        with Store(Path(folder) / "out" / "answers.sqlite") as store:
            measured = [seconds_by(store, Timing(idle)) for idle in IDLES]
    rows = []
    for name, worked in zip(names, truth, strict=True):
        found = [seconds(name, "me") for seconds in measured]
        figures = [worked, *(one.active for one in found), found[0].wall]
        rows.append([name, *(f"{figure:.2f} s" for figure in figures)])
    return f"Seconds of answers, by script and as measured.\n\n{table(HEADS, rows)}"


def _played(names: list[str], folder: Path) -> list[float]:
    """Seconds of work in each scenario; the events are in the store."""
    clip(folder / "a.wav", SOUND)
    rows = [f'"{name}",{"a.wav" if name == HEARD else ""}' for name in names]
    (folder / "list.csv").write_text("\n".join(["id,sound", *rows]))
    command = f"annotate {folder}/list.csv -o {folder}/out {HOW}".split()
    with ExitStack() as ending:
        page, group = ending.enter_context(alone(folder / "profile"))
        person = Person(page, group, command, ending)
        person.page.goto(person.serve())
        truth = [person.work(SCENARIOS[name]) for name in names]
        person.server.end()  # all is answered
    return truth
