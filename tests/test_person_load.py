"""Many people at once, and kills of server, run and browser in the middle of work: no answer that
was acknowledged is lost, and no question is asked again. How fast it is says the benchmark.
"""

import random
import subprocess
import threading
import time
from collections import Counter
from contextlib import contextmanager

import pytest

from browser import chromium, missing
from robots import Robot, questions, running
from truecost.person.store import Store
from truecost.person.web import Settings, serve


def working(robots, **how):
    """Threads in which robots answer; what went wrong is in `faults`."""
    faults = []

    def work(robot):
        try:
            robot.work(**how)
        except Exception as error:
            faults.append(repr(error))

    threads = [threading.Thread(target=work, args=(robot,)) for robot in robots]
    for thread in threads:
        thread.start()
    return threads, faults


def check(path, robots):
    """What every robot was told that it is kept is kept, once; how many answers there are."""
    with Store(path) as store:  # which checks the file
        rows = store.answers()
        owners = {one.pid: (one.key, one.person) for one in store.presentations()}
        progress = store.progress()
    kept = {(row.pid, row.label) for row in rows}
    told = [said for robot in robots for said in robot.acknowledged.values()]
    assert [said for said in told if said not in kept] == []
    assert max(Counter(row.key for row in rows).values()) == 1  # none was asked twice
    assert all(owners[row.pid] == (row.key, row.person) for row in rows)
    assert progress.done == progress.full == len(rows)
    return len(rows)


@pytest.mark.parametrize(
    ("people", "seconds"), [(4, 0.5), pytest.param(50, 20, marks=pytest.mark.long)]
)
def test_many_people_answer_at_once(tmp_path, people, seconds):
    names = [f"person {k}" for k in range(people)]
    path = tmp_path / "answers.sqlite"
    with Store(path) as store:
        store.put(questions(20_000))
    with serve(path, Settings(classes=("seven", "other")), people=names) as page:
        robots = [Robot(page.links[name], k) for k, name in enumerate(names)]
        threads, faults = working(robots, until=time.monotonic() + seconds)
        for thread in threads:
            thread.join()
    assert faults == []
    answers = check(path, robots)
    assert answers == sum(len(robot.acknowledged) for robot in robots) > people


@pytest.mark.parametrize(
    ("kills", "batches"), [(3, 12), pytest.param(100, 400, marks=pytest.mark.long)]
)
def test_kills_of_server_and_run_lose_nothing(tmp_path, kills, batches):
    rng = random.Random(0)
    with running(tmp_path, people=3, batches=batches, size=8) as run:
        robots = [Robot(link, k) for k, link in enumerate(run.start().values())]
        threads, faults = working(robots, think=0.02)
        for _ in range(kills):
            time.sleep(0.2 + 0.4 * rng.random())
            assert run.process.poll() is None, "it ended before all kills: give it more batches"
            run.kill()
            run.start()
        for thread in threads:
            thread.join()
    assert faults == []
    assert check(run.store, robots) == batches * 8
    logged = run.logged()
    assert len({key for key, _, _ in logged}) == len(logged) == batches * 8  # learnt from once
    with Store(run.store) as store:
        assert {(row.key, row.person, row.label) for row in store.answers()} == {*logged}


@pytest.mark.long
def test_kills_of_the_browser_lose_nothing(tmp_path):
    if [name for name in missing() if not name.startswith("axe")]:
        pytest.skip("no browser tests: " + "; ".join(missing()))
    from playwright.sync_api import sync_playwright

    path, told = tmp_path / "answers.sqlite", 0
    with Store(path) as store, serve(path, Settings(classes=("seven", "other"))) as page:
        store.put(questions(2000))
        for kill in range(10):
            profile = tmp_path / f"profile-{kill % 2}"  # an old one, and one that is new
            link = f"{page.address}start?token={store.launch('me')}"
            with sync_playwright() as playwright, killable(profile) as address:
                tab = playwright.chromium.connect_over_cdp(address).contexts[0].pages[0]
                tab.goto(link)
                end = time.monotonic() + 1 + kill / 4
                while time.monotonic() < end:
                    tab.keyboard.press("2")
                    words = (tab.text_content("#progress") or "0").split()
                    told = max(told, int(words[0]))
        done = store.progress().done
        assert told <= done <= told + 10  # at most the last answer of each was not shown any more
        assert done > 50
    assert check(path, []) == done


@contextmanager
def killable(profile):
    """Chromium with a profile, killed at the end; the address of its remote control."""
    place = profile / "DevToolsActivePort"
    place.unlink(missing_ok=True)
    options = ("--headless=new", "--no-sandbox", "--no-first-run", "--remote-debugging-port=0")
    command = [chromium(), *options, f"--user-data-dir={profile}", "about:blank"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 60
        while not place.is_file() or "\n" not in place.read_text():
            assert time.monotonic() < end
            time.sleep(0.02)
        yield f"http://127.0.0.1:{place.read_text().split()[0]}"
    finally:
        process.kill()
        process.wait()
