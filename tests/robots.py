"""Robots who answer on the page's server as a browser does, and questions for them."""

import http.client
import itertools
import json
import random
import time
import wave
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
