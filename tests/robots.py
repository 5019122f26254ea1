"""Robots who answer on the page's server as a browser does, and questions for them."""

import http.client
import itertools
import json
import random
import subprocess
import sys
import time
import wave
from contextlib import contextmanager
from urllib.parse import urlsplit

import numpy as np

from truecost.person.store import Asked

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"


def questions(number, **more):
    """Questions of two classes or more."""
    return [
        Asked(key=f"item {k}", **{"kind": "classes", "payload": {"ask": "Which one?"}, **more})
        for k in range(number)
    ]


def clip(path, seconds=1.0, rate=8000, pitch=440):
    """A wav file with a tone that grows."""
    times = np.arange(int(seconds * rate)) / rate
    tone = np.sin(2 * np.pi * pitch * times * (1 + times / 2)) * times / seconds
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes((tone * 20000).astype("<i2").tobytes())
    return str(path)


class Robot:
    """A browser of one person, without a screen: it enters with a link and sends what a page does.

    An answer is sent again until the server has acknowledged it, whoever kills the server.
    """

    def __init__(self, link, seed=0):
        self.connection = None
        self.address = urlsplit(link)
        self.rng = random.Random(seed)
        self.session = f"{self.rng.getrandbits(72):018x}"
        self.seq = itertools.count()
        self.acknowledged = {}  # aid -> pid, label
        self.latencies = []
        self.again = 0  # answers that were sent more than once
        _, _, cookie = self.call("POST", "/start", self.address.query, {"content-type": FORM})
        self.cookie = cookie and cookie.split(";")[0]

    @classmethod
    def outside(cls, link):
        """A browser that has not entered."""
        robot = cls.__new__(cls)
        robot.address, robot.connection, robot.cookie = urlsplit(link), None, ""
        return robot

    def __del__(self):
        if self.connection is not None:
            self.connection.close()

    def call(self, method, path, body=None, headers=()):
        """Status, body and cookie of one request, over a connection that is kept."""
        for attempt in (0, 1):
            if self.connection is None:
                place = self.address.hostname, self.address.port
                self.connection = http.client.HTTPConnection(*place, timeout=30)
            try:
                self.connection.request(method, path, body, dict(headers))
                got = self.connection.getresponse()
                return got.status, got.read(), got.getheader("set-cookie")
            except (OSError, http.client.HTTPException):
                self.connection.close()
                self.connection = None
                if attempt:
                    raise
        raise AssertionError

    def send(self, path, **body):
        """Status and answer of a POST with the session."""
        headers = {"cookie": self.cookie, "content-type": JSON}
        text = json.dumps({"session": self.session, **body})
        status, said, _ = self.call("POST", path, text, headers)
        return status, json.loads(said)

    def get(self, path, **headers):
        """Status and body of a GET."""
        return self.call("GET", path, None, {"cookie": self.cookie, **headers})[:2]

    def event(self, kind, pid=None):
        """A raw event now."""
        now = {"mono": time.monotonic(), "wall": time.time()}
        return {"seq": next(self.seq), "kind": kind, "pid": pid, **now}

    def ask(self, wait=0.0):
        """How things stand, with the next question."""
        return self.patient("/api/next", wait=wait)[1]

    def answer(self, pid, label=None, **more):
        """Answer; status and what was said."""
        body = {"aid": f"{self.rng.getrandbits(128):032x}", "pid": pid, "label": label, **more}
        body = {"mono": time.monotonic(), "wall": time.time(), "next": True, **body}
        start = time.perf_counter()
        status, said = self.patient("/api/answer", **body)
        self.latencies.append(time.perf_counter() - start)
        if status == 200:
            self.acknowledged[body["aid"]] = pid, label
        return status, said

    def patient(self, path, seconds=60, **body):
        """As `send`, until a server is there that answers."""
        end = time.monotonic() + seconds
        for attempt in itertools.count():
            try:
                status, said = self.send(path, **body)
                if status < 500:
                    self.again += bool(attempt)
                    return status, said
            except (OSError, http.client.HTTPException, ValueError):
                pass
            assert time.monotonic() < end
            time.sleep(0.02)
        raise AssertionError

    def work(self, think=0.0, until=None):
        """Answer until the run has ended, or some time is over."""
        said = self.ask()
        while said["state"] == "open" and (until is None or time.monotonic() < until):
            question = said["question"]
            if question is None:
                said = self.ask(wait=1)
                continue
            pid = question["pid"]
            events = [self.event(kind, pid) for kind in ("visible", "focus", "shown")]
            time.sleep(think * 2 * self.rng.random())
            events += [self.event("key", pid), self.event("answer", pid)]
            label = self.rng.choice(CLASSES)
            _, found = self.answer(pid, label, events=events)
            said = found.get("next") or self.ask()


CLASSES = ("seven", "other")
RUN = """
import json, os, sys, time
from truecost.person.store import Asked, Store
from truecost.person.web import Settings, serve
path, log, people, batches, size = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
names = [f"person {k}" for k in range(people)]
settings = Settings(classes=("seven", "other"), live=True)
with Store(path) as store, serve(path, settings, people=names) as page, open(log, "a+") as file:
    print(json.dumps(page.links), flush=True)
    file.seek(0)
    lines = file.read().splitlines(keepends=True)
    learnt = {json.loads(line)[0] for line in lines if line.endswith("\\n")}
    for batch in range(batches):
        keys = [f"{batch} {k}" for k in range(size)]
        store.put([Asked(key=key, kind="classes", batch=batch) for key in keys])
        while store.open_in(batch):
            time.sleep(0.01)
        for key in keys:
            store.take(key)
            if key not in learnt:
                (row,) = store.answers(key)
                file.write(json.dumps([key, row.person, row.label]) + "\\n")
                file.flush()
                os.fsync(file.fileno())
    store.set_meta(state="done")
    time.sleep(3)
"""


class Run:
    """A run with its page in a process of its own, which can be killed: it puts batches of
    questions and learns from the answers, which it logs.
    """

    def __init__(self, folder, people, batches, size):
        self.store, self.log = folder / "answers.sqlite", folder / "log.jsonl"
        self.words = [self.store, self.log, people, batches, size]
        self.process = None

    def start(self):
        """Start it, or go on; the links."""
        command = [sys.executable, "-c", RUN, *map(str, self.words)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        return json.loads(self.process.stdout.readline())

    def kill(self):
        """End it without a chance to do anything."""
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def logged(self):
        """Key, person and label of what was learnt from."""
        return [tuple(json.loads(line)) for line in self.log.read_text().splitlines()]


@contextmanager
def running(folder, people, batches, size):
    """A run that is over afterwards."""
    run = Run(folder, people, batches, size)
    try:
        yield run
    finally:
        if run.process is not None and run.process.poll() is None:
            run.kill()
