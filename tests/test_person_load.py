"""Many people at once, and kills of server, run and browser in the middle of work: no answer that
was acknowledged is lost, and no question is asked again. How fast it is says the benchmark.
"""

import json
import random
import subprocess
import time
from collections import Counter
from contextlib import contextmanager
from functools import partial

import pytest

from browser import chromium, require
from robots import Robot, questions
from truecost.person.store import Store
from truecost.person.web import Settings, serve

RUN = """
import json, os, sys, time
from truecost.person.store import Asked, Store
from truecost.person.web import Settings, serve
path, log, people, batches, size = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
names = [f"person {k}" for k in range(people)]
settings = Settings(classes=("seven", "other"), live=True)
with Store(path) as store, serve(path, settings, people=names) as page, open(log, "a+") as file:
    page.announce()
    file.seek(0)
    lines = file.read().splitlines(keepends=True)
    learnt = {json.loads(line)[0] for line in lines if line.endswith("\\n")}
    for batch in range(batches):
        keys = [f"{batch} {k}" for k in range(size)]
        store.put([Asked(key=key, kind="classes", batch=batch) for key in keys])
        while not store.take_all(keys):
            time.sleep(0.01)
        for key in keys:
            if key not in learnt:
                (row,) = store.answers(key)
                file.write(json.dumps([key, row.person, row.label]) + "\\n")
                file.flush()
                os.fsync(file.fileno())
    store.set_meta(state="done")
    time.sleep(3)
"""


def wait_for(robots):
    """Until all of them are done, without a fault."""
    for robot in robots:
        robot.thread.join()
    assert [robot.failure for robot in robots if robot.failure] == []


def check(path, robots):
    """What every robot was told that it is kept is kept, once; how many answers there are."""
    with Store(path) as store:  # which checks the file
        rows = store.answers()
        owners = {one.pid: (one.key, one.person) for one in store.presentations()}
        progress = store.progress()
    kept = {(row.pid, row.label) for row in rows}
    told = [said for robot in robots for said in robot.given.values()]
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
        robots = [Robot(page.links[name], seed=k) for k, name in enumerate(names)]
        end = time.monotonic() + seconds
        wait_for([robot.start(until=end) for robot in robots])
    answers = check(path, robots)
    assert answers == sum(len(robot.given) for robot in robots) > people


@pytest.mark.parametrize(
    ("kills", "batches"), [(3, 12), pytest.param(100, 400, marks=pytest.mark.long)]
)
def test_kills_of_server_and_run_lose_nothing(tmp_path, running, kills, batches):
    rng, path, log = random.Random(0), tmp_path / "answers.sqlite", tmp_path / "log.jsonl"
    start = partial(running, path, log, 3, batches, 8, program=("-c", RUN))
    run = start()
    links = run.links(3).values()
    robots = [Robot(link, think=0.015, seed=k).start() for k, link in enumerate(links)]
    for _ in range(kills):
        time.sleep(0.2 + 0.4 * rng.random())
        assert run.process.poll() is None, "it ended before all kills: give it more batches"
        run.kill()
        run = start()
        run.links(3)
    wait_for(robots)
    assert check(path, robots) == batches * 8
    logged = [tuple(json.loads(line)) for line in log.read_text().splitlines()]
    assert len({key for key, _, _ in logged}) == len(logged) == batches * 8  # learnt from once
    with Store(path) as store:
        assert {(row.key, row.person, row.label) for row in store.answers()} == {*logged}


@pytest.mark.long
def test_kills_of_the_browser_lose_nothing(tmp_path):
    require()
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
