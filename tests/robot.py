"""A person made of threads: opens a link, and answers what the page would show, over HTTP."""

import http.client
import json
import random
import re
import subprocess
import sys
import threading
import time
import wave

TRUECOST = (sys.executable, "-m", "truecost")
LINK = re.compile(r"truecost: (\S+) answers at (http://\S+)")


class Robot:
    """Answers questions as `decide(question)` says, after `think` seconds.

    `decide` gives a dict with label, verdict or refusal; None stops. `given` holds what was
    acknowledged: aid -> label.
    """

    def __init__(self, link, decide, think=0.0, seed=0):
        self.host, self.port = re.match(r"http://([^:/]+):(\d+)", link).groups()
        self.token = link.partition("token=")[2]
        self.decide, self.think, self.draws = decide, think, random.Random(seed)
        self.session, self.seq = self.draws.randbytes(9).hex(), 0
        self.cookie, self.given, self.questions = None, {}, []
        self.began = time.monotonic()
        self.failure = None

    def call(self, method, path, body=None, kind="application/json"):
        """Status, body and headers; tries again while nobody listens."""
        for _ in range(400):
            one = http.client.HTTPConnection(self.host, int(self.port), timeout=30)
            try:
                head = {"Content-Type": kind, **({"Cookie": self.cookie} if self.cookie else {})}
                one.request(method, path, body, head)
                answer = one.getresponse()
                return answer.status, answer.read(), answer.headers
            except (OSError, http.client.HTTPException):
                time.sleep(0.05)
            finally:
                one.close()
        raise TimeoutError(path)

    def enter(self):
        form = "application/x-www-form-urlencoded"
        status, _, head = self.call("POST", "/start", f"token={self.token}", form)
        assert status == 303, status
        self.cookie = head["Set-Cookie"].partition(";")[0]

    def post(self, what, **body):
        sent = json.dumps({"session": self.session, **body})
        status, said, _ = self.call("POST", f"/api/{what}", sent)
        return status, json.loads(said)

    def event(self, kind, pid=None):
        self.seq += 1
        return {"seq": self.seq, "kind": kind, "pid": pid, "mono": time.monotonic() - self.began,
                "wall": time.time()}  # fmt: skip

    def answers(self):
        """Answer until there is nothing left; what the last reply said."""
        if self.cookie is None:
            self.enter()
        _, said = self.post("next", wait=5.0)
        while True:
            question = said.get("question")
            if question is None:
                if said.get("state") != "open":
                    return said
                _, said = self.post("next", wait=5.0)
                continue
            said = self._answered(question)
            if said is None:
                return self.post("stop")

    def _answered(self, question):
        pid = question["pid"]
        events = [self.event(kind, pid) for kind in ("visible", "focus", "shown")]
        self.questions.append(question)
        told = self.decide(question)
        if told is None:
            return None
        time.sleep(self.think)
        events += [self.event("key", pid), self.event("answer", pid)]
        aid = self.draws.randbytes(9).hex()
        clocks = {"mono": events[-1]["mono"], "wall": events[-1]["wall"]}
        status, said = self.post(
            "answer", aid=aid, pid=pid, events=events, next=True, **clocks, **told
        )
        assert status in (200, 409, 404), (status, said)
        if status == 200:
            self.given[aid] = told.get("label")
            return said["next"]
        return self.post("next", wait=5.0)[1]

    def start(self):
        """In a thread of its own."""

        def work():
            try:
                self.answers()
            except Exception as error:
                self.failure = error

        self.thread = threading.Thread(target=work, daemon=True)
        self.thread.start()
        return self


class Running:
    """A command that prints links, and what it says in the end."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen(
            [*TRUECOST, *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.said = ""

    def links(self, number=1):
        found = {}
        while len(found) < number:
            line = self.process.stderr.readline()
            if not line:
                raise AssertionError(self.said + self.process.stderr.read())
            self.said += line
            if match := LINK.match(line):
                found[match[1]] = match[2]
        return found

    def end(self, timeout=60):
        out, err = self.process.communicate(timeout=timeout)
        return self.process.returncode, out, self.said + err

    def kill(self):
        """As `kill -9` does."""
        self.process.kill()
        self.close()

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


def write_sound(path, value, number=800):
    """A wav file, 8 kHz, all of whose samples have one value."""
    with wave.open(str(path), "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(8000)
        sound.writeframes(int(value).to_bytes(2, "little") * number)
