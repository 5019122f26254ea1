"""People made of threads, who answer on the page's server as a browser does; the commands that they
answer to, and questions and sounds for them.
"""

import http.client
import itertools
import json
import math
import random
import re
import subprocess
import sys
import threading
import time
import wave
from urllib.parse import urlsplit

import numpy as np

import nursery
from truecost.person.store import Asked

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
CLASSES = ("seven", "other")
LINK = re.compile(r"truecost: to answer as (.+), open (http://\S+)")


def questions(number, **more):
    """Questions of two classes or more."""
    return [
        Asked(key=f"item {k}", **{"kind": "classes", "payload": {"ask": "Which one?"}, **more})
        for k in range(number)
    ]


def write_sound(path, samples):
    """A wav file of 8 kHz."""
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, 8000, 0, "NONE", None))
        file.writeframes(np.asarray(samples, "<i2").tobytes())
    return str(path)


def clip(path, seconds=1.0):
    """A wav file with a tone that grows and rises."""
    times = np.arange(int(seconds * 8000)) / 8000
    tone = np.sin(880 * np.pi * times * (1 + times / 2)) * times / seconds
    return write_sound(path, tone * 20000)


class Robot:
    """A browser of one person, without a screen: it enters with a link and sends what a page does.

    An answer is sent again until the server has acknowledged it, whoever kills the server; then it
    is in `given`: aid -> presentation and label. `decide(question, hear)` gives a dict with label,
    verdict or refusal, None to stop; `hear()` is the sound. Thinking takes `think` seconds or up to
    twice as many.
    """

    def __init__(self, link, decide=None, think=0.0, seed=0, inside=True):
        self.connection, self.cookie = None, ""
        self.address, self.rng = urlsplit(link), random.Random(seed)
        self.decide = decide or (lambda *_: {"label": self.rng.choice(CLASSES)})
        self.think, self.session = think, f"{self.rng.getrandbits(72):018x}"
        self.seq = itertools.count()
        self.given, self.questions, self.latencies = {}, [], []
        self.thread = self.failure = None
        if inside:
            _, _, cookie = self.call("POST", "/start", self.address.query, {"content-type": FORM})
            self.cookie = cookie and cookie.split(";")[0]

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
        return patient(self.send, "/api/next", wait=wait)[1]

    def answer(self, pid, label=None, **more):
        """Answer; status and what was said."""
        body = {"aid": f"{self.rng.getrandbits(128):032x}", "pid": pid, "label": label, **more}
        body = {"mono": time.monotonic(), "wall": time.time(), "next": True, **body}
        start = time.perf_counter()
        status, said = patient(self.send, "/api/answer", **body)
        self.latencies.append(time.perf_counter() - start)
        if status == 200:
            self.given[body["aid"]] = pid, label
        return status, said

    def work(self, until=math.inf):
        """Answer until the run has ended, somebody stops it, or some time is over."""
        said = self.ask()
        while said["state"] == "open" and time.monotonic() < until:
            question = said["question"]
            said = self.ask(wait=5) if question is None else self._answered(question)

    def _answered(self, question):
        """Answer a question, or stop; how things stand then."""
        self.questions.append(question)
        pid = question["pid"]
        events = [self.event(kind, pid) for kind in ("visible", "focus", "shown")]
        told = self.decide(question, lambda: patient(self.get, question["sound"])[1])
        if told is None:
            patient(self.send, "/api/stop")
            return {"state": "stopped"}
        time.sleep(self.think * (1 + self.rng.random()))
        events += [self.event("key", pid), self.event("answer", pid)]
        status, said = self.answer(pid, events=events, **told)
        assert status in (200, 404, 409), (status, said)
        return said.get("next") or self.ask()

    def start(self, **how):
        """Work in a thread of its own; what goes wrong there is its `failure`."""

        def work():
            try:
                self.work(**how)
            except Exception as error:
                self.failure = error

        self.thread = threading.Thread(target=work, daemon=True)
        self.thread.start()
        return self

    def wait_for(self, number):
        """Until so many answers are acknowledged."""
        while len(self.given) < number:
            assert self.failure is None, self.failure
            self.thread.join(0.01)


def patient(request, *words, **more):
    """Status and content of a request, once a server is there that answers."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            status, said = request(*words, **more)
            if status < 500:
                return status, said
        except (OSError, http.client.HTTPException, ValueError):
            pass
        time.sleep(0.02)
    raise TimeoutError(words)


class Running:
    """A process that prints links, and what it says in the end; by default a truecost command."""

    def __init__(self, *words, program=()):
        heard = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        if program:
            self.process = subprocess.Popen([sys.executable, *program, *map(str, words)], **heard)
        else:
            self.process = nursery.start(words, **heard)
        self.said = ""

    def links(self, number=1):
        """The links of so many people, by name."""
        found = {}
        while len(found) < number:
            line = self.process.stderr.readline()
            if not line:
                raise AssertionError(self.said + self.process.stderr.read())
            self.said += line
            if match := LINK.match(line):
                found[match[1]] = match[2]
        return found

    def end(self, timeout=120):
        """Exit code, what it printed, and what it said of itself."""
        out, err = self.process.communicate(timeout=timeout)
        return self.process.returncode, out, self.said + err

    def kill(self):
        """As `kill -9` does; nothing where it is over."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()
