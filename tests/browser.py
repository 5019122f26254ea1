"""Headless Chromium for the tests of the report, and screenshots for those who change pictures.

    python tests/browser.py REPORT.html FOLDER

writes the whole page wide and narrow, light and dark, as it opens and with every table open.

The browser is the system's own (`chromium-headless-shell` or `chromium` on the path, or
TRUECOST_CHROMIUM); playwright drives it and downloads none. `scripts/_browser` installs what is
missing.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
AXE = ROOT / ".venv" / "browser" / "node_modules" / "axe-core" / "axe.min.js"
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
WIDTHS = {"wide": 1280, "middle": 768, "narrow": 390}  # CSS pixels
PAINTED = "performance.getEntriesByName('painted').at(-1)?.detail"  # of a page of questions


def chromium() -> str | None:
    """The browser: TRUECOST_CHROMIUM, or the first of the usual names on the path."""
    named = os.environ.get("TRUECOST_CHROMIUM")
    return shutil.which(named) if named else next(filter(None, map(shutil.which, NAMES)), None)


def headless() -> str | None:
    """As `chromium`, without windows where there is such a one: half the CPU for the same pages."""
    light = None if os.environ.get("TRUECOST_CHROMIUM") else shutil.which("chromium-headless-shell")
    return light or chromium()


def missing() -> list[str]:
    """What is not there, each with how to get it; empty when the tests can run."""
    wanted = {
        "playwright (pip install --group browser)": find_spec("playwright"),
        "Chromium (apt-get install chromium, or TRUECOST_CHROMIUM=path)": chromium(),
        "axe-core (npm; scripts/_browser installs it)": AXE.is_file(),
    }
    return [name for name, there in wanted.items() if not there]


def require(*, axe: bool = False) -> None:
    """Skip a test without a browser, or fail when TRUECOST_BROWSER=required."""
    import pytest

    wish = os.environ.get("TRUECOST_BROWSER")
    lacking = [name for name in missing() if axe or not name.startswith("axe")]
    if wish == "skip":
        pytest.skip("TRUECOST_BROWSER=skip")
    if lacking and wish == "required":
        pytest.fail(f"TRUECOST_BROWSER=required, but missing: {'; '.join(lacking)}")
    if lacking:
        pytest.skip(f"no browser tests: missing {'; '.join(lacking)}")


@cache
def measures() -> str:
    """The functions that measure a page, as a JavaScript expression."""
    return (Path(__file__).parent / "browser.js").read_text(encoding="utf-8")


@dataclass
class Visit:
    """An open page and what happened on it since it was opened."""

    page: Any
    requests: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def measure(self, name: str) -> Any:
        """What one of the functions of browser.js finds on the page."""
        return self.page.evaluate(f"({measures()}).{name}()")

    def axe(self, *, colours: bool = True) -> list[dict[str, Any]]:
        """What axe-core finds, of any impact: id, impact, help and the nodes.

        Looking at colours takes two thirds of its time; `texts` of browser.js measures them too.
        """
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(AXE.read_text(encoding="utf-8"))
        how = {"resultTypes": ["violations"], "rules": {"color-contrast": {"enabled": colours}}}
        run = "async (how) => (await axe.run(how)).violations"
        return list(self.page.evaluate(run, how))

    def tree(self) -> list[dict[str, Any]]:
        """What a screen reader is given: role and name of every node that is not ignored."""
        session = self.page.context.new_cdp_session(self.page)
        nodes = session.send("Accessibility.getFullAXTree")["nodes"]
        return [
            {key: node.get(key, {}).get("value", "") for key in ("role", "name")}
            for node in nodes
            if not node["ignored"]
        ]


@contextmanager
def started() -> Iterator[Any]:
    """The browser, with a new and empty profile."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=headless())
        yield browser
        browser.close()


@contextmanager
def alone(profile: Path) -> Iterator[tuple[Any, int]]:
    """The first tab of a browser that playwright only drives, and the group of its processes: in
    one that playwright starts every tab is visible and has the focus.
    """
    from playwright.sync_api import sync_playwright

    words = ("--headless=new", "--no-sandbox", "--no-first-run", "--remote-debugging-port=0")
    process = subprocess.Popen(
        [str(chromium()), *words, f"--user-data-dir={profile}", "about:blank"],
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    place, end = profile / "DevToolsActivePort", time.monotonic() + 30
    try:
        while not (place.is_file() and place.read_text()) and time.monotonic() < end:
            time.sleep(0.02)
        address = f"http://127.0.0.1:{place.read_text().split()[0]}"
        with sync_playwright() as playwright:
            browser = playwright.chromium.connect_over_cdp(address, no_defaults=True)
            page = browser.contexts[0].pages[0]
            page.bring_to_front()
            yield page, process.pid
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def until(page: Any, expression: str, value: Any = None, seconds: float = 20) -> Any:
    """What an expression gives once it is true; with a value, once it differs from it."""
    end = time.monotonic() + seconds
    while True:
        found = page.evaluate(expression)
        if found if value is None else (found != value):
            return found
        assert time.monotonic() < end, (expression, page.inner_text("body"))
        time.sleep(0.01)


def shown(page: Any) -> str:
    """The presentation on the screen of a page of questions."""
    return str(until(page, PAINTED))


@contextmanager
def visit(
    browser: Any, report: Path, width: int = 1280, scheme: str = "light", scripts: bool = True
) -> Iterator[Visit]:
    """Open a file of this machine; every request, error, warning and dialog is noted."""
    with opened(
        browser, report.resolve().as_uri(), width, scheme, java_script_enabled=scripts
    ) as seen:
        yield seen


@contextmanager
def opened(
    browser: Any, address: str, width: int = 1280, scheme: str = "light", **more: Any
) -> Iterator[Visit]:
    """Open an address in a browser of its own, which keeps nothing; what happens is noted."""
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, **more
    )
    seen = Visit(context.new_page())
    context.on("request", lambda request: seen.requests.append(request.url))
    context.on("requestfailed", lambda request: seen.faults.append(f"failed: {request.url}"))
    context.on("weberror", lambda error: seen.faults.append(f"script error: {error.error}"))
    context.on("console", lambda said: _note(seen, said.type, said.text))
    context.on("dialog", lambda dialog: _dismiss(seen, dialog))
    seen.page.on("websocket", lambda socket: seen.requests.append(socket.url))
    seen.page.goto(address)
    yield seen
    context.close()


def _note(seen: Visit, kind: str, text: str) -> None:
    if kind in ("error", "warning"):
        seen.faults.append(f"console {kind}: {text}")


def _dismiss(seen: Visit, dialog: Any) -> None:
    seen.faults.append(f"dialog: {dialog.message}")
    dialog.dismiss()


def screenshots(report: Path, folder: Path) -> Iterator[Path]:
    """Write the page wide and narrow, light and dark, with its tables closed and open."""
    folder.mkdir(parents=True, exist_ok=True)
    with started() as browser:
        for name in ("wide", "narrow"):
            for scheme in ("light", "dark"):
                with visit(browser, report, WIDTHS[name], scheme) as seen:
                    for tables in ("closed", "open"):
                        if tables == "open":
                            seen.measure("open")
                        path = folder / f"{name}-{scheme}-{tables}.png"
                        seen.page.screenshot(path=path, full_page=True)
                        yield path


def main(arguments: list[str]) -> int:
    """The command line: a report and a folder."""
    if len(arguments) != 2 or not Path(arguments[0]).is_file():
        sys.stderr.write("usage: scripts/shots REPORT.html FOLDER\n")
        return 2
    lacking = [name for name in missing() if not name.startswith("axe-core")]
    if lacking:
        sys.stderr.write(f"missing: {'; '.join(lacking)}\n")
        return 2
    for path in screenshots(Path(arguments[0]), Path(arguments[1])):
        sys.stdout.write(f"{path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
