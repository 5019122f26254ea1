"""The server of the page, on loopback: who may enter, what other pages may do, what is refused.

Every rule is tested with the same requests that a browser, a page of another site, or a person with
a shell on another machine would send.
"""

import http.client
import json
import random
import re
import shutil
import socket
import ssl
import subprocess
import sys
import threading

import numpy as np
import pytest

from robots import FORM, JSON, Robot, clip, questions
from truecost import cli
from truecost.errors import InputError, UsageError
from truecost.learning.system import Batch, Question
from truecost.person import web
from truecost.person.app import FILES
from truecost.person.expert import LiveExpert, LivePerson
from truecost.person.requests import MOST
from truecost.person.store import Asked, Given, Store
from truecost.person.views import View
from truecost.person.web import Settings, _origin, serve

SETTINGS = Settings(classes=("seven", "other"), title="Sevens")
AID = "a" * 16


def stored(folder):
    """A store with three sounds, whose files are named by their classes; of one a stretch."""
    made = [
        clip(folder / "7_theo_0.wav"),
        clip(folder / "3_jackson_1.wav", seconds=2.0),
        str(folder / "gone.wav"),
    ]
    spans = [None, (0.5, 0.75), None]
    (folder / "9_picture.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    with Store(folder / "answers.sqlite") as store:
        for k, (media, span) in enumerate(zip(made, spans, strict=True)):
            more = {"media": media, "span": span, "image": str(folder / "9_picture.png")}
            store.put([*questions(k + 1, hidden={"cell": "10A"}, **more)][k:])
    return folder / "answers.sqlite"


@pytest.fixture
def path(tmp_path):
    return stored(tmp_path)


@pytest.fixture
def page(path):
    with serve(path, SETTINGS) as running:
        yield running


@pytest.fixture
def ann(page):
    """A browser that is in."""
    return Robot(page.links["me"])


@pytest.fixture(scope="module")
def guest(tmp_path_factory):
    """A browser that is in, for requests that change nothing; they share a server."""
    path = stored(tmp_path_factory.mktemp("guest"))
    with serve(path, SETTINGS) as running:
        yield Robot(running.links["me"])
    with Store(path) as store:
        assert store.answers() == []
        assert store.history() == []


def status(robot, method, path, body=None, **headers):
    """The status of a request with the robot's cookie; headers as keywords."""
    named = {name.replace("_", "-"): value for name, value in headers.items() if value is not None}
    base = {"cookie": robot.cookie, "content-type": JSON} if method == "POST" else {}
    if method == "GET" and "cookie" not in named:
        base = {"cookie": robot.cookie}
    return robot.call(method, path, body, {**base, **named})[0]


NEXT = json.dumps({"session": "s" * 8})


# Entering


def enter(robot, **headers):
    """Status, body and cookie of the form of a link."""
    return robot.call("POST", "/start", robot.address.query, {"content-type": FORM, **headers})


def test_a_link_is_used_up_by_entering_and_not_by_a_look(page):
    visitor = Robot(page.links["me"], inside=False)
    for _ in range(2):
        assert visitor.call("GET", f"/start?{visitor.address.query}")[0] == 200
    assert enter(visitor)[0] == 303
    code, said, cookie = enter(visitor)
    assert (code, b"This link cannot be used" in said, cookie) == (403, True, None)


def test_the_form_of_a_link_shows_nothing_but_a_token(page):
    visitor = Robot(page.links["me"], inside=False)
    _, shown, _ = visitor.call("GET", f"/start?{visitor.address.query}%22%3E%3Cb%3E")
    assert visitor.address.query.partition("=")[2].encode() in shown
    assert b"<b>" not in shown


def test_the_cookie_is_strict_hidden_from_scripts_and_named_after_the_store(path, page):
    cookie = enter(Robot(page.links["me"], inside=False))[2]
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= {*cookie.split("; ")}
    with Store(path) as store:
        assert cookie.startswith(f"truecost-{store.meta('id')}=")


def test_who_is_in_stays_in_with_a_used_link(page, ann):
    used = ("POST", "/start", page.links["me"].partition("?")[2])
    assert status(ann, *used, content_type=FORM) == 303
    assert status(ann, *used, content_type=FORM, cookie="") == 403


def test_a_used_or_invented_link_of_another_person_opens_nothing(path):
    with serve(path, SETTINGS, people=("ann", "bob")) as page:
        ann, bob = (Robot(page.links[name]) for name in ("ann", "bob"))
        for query in (page.links["ann"].partition("?")[2], f"token={'0' * 48}", "token=", ""):
            assert status(bob, "POST", "/start", query, content_type=FORM) == 403
        assert json.loads(bob.get("/api/state")[1])["person"] == "bob"
        assert json.loads(ann.get("/api/state")[1])["person"] == "ann"


def test_who_is_no_longer_among_the_people_is_out(path):
    with serve(path, SETTINGS, people=("ann", "bob")) as page, Store(path) as store:
        cookie, later = Robot(page.links["bob"]).cookie, store.launch("bob")
    with serve(path, SETTINGS, people=("ann",)) as page:
        bob = Robot(page.links["ann"], inside=False)
        bob.cookie = cookie
        assert bob.get("/")[0] == bob.get("/api/state")[0] == bob.send("/api/next")[0] == 401
        form = {"content_type": FORM, "cookie": ""}
        assert status(bob, "POST", "/start", f"token={later}", **form) == 403


def test_a_used_link_can_be_replaced_while_the_page_runs(path, page, ann):
    with Store(path) as store:
        token = store.launch("me")
    other = Robot(f"{page.address}start?token={token}")
    assert other.ask()["question"]
    assert ann.get("/")[0] == other.get("/")[0] == 200


def test_nothing_is_there_without_a_session(page, ann):
    sound = ann.ask()["question"]["sound"]
    assert ann.get(sound)[0] == 200
    posts = ("next", "answer", "events", "undo", "stop")
    tried = [("GET", p, None) for p in ("/", "/api/state", sound)]
    tried += [("POST", f"/api/{name}", NEXT) for name in posts]
    for cookie in ("", "truecost-0=1", ann.cookie[:-1]):
        assert {status(ann, *one, cookie=cookie) for one in tried} == {401}


def test_who_is_forgotten_is_out(path, ann):
    with Store(path) as store:
        store.forget("me")
    assert ann.send("/api/next")[0] == 401


# Other pages


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1:1", "127.0.0.1", "", "[::1]"])
def test_a_wrong_host_is_refused(guest, host):
    assert status(guest, "POST", "/api/next", NEXT, host=host) == 421
    assert status(guest, "GET", "/", host=host) == 421


def test_the_names_of_this_machine_are_right_hosts(guest):
    for name in ("127.0.0.1", "localhost", "[::1]"):
        assert status(guest, "GET", "/", host=f"{name}:{guest.address.port}") == 200


@pytest.mark.parametrize("place", ["/api/next", "/api/answer", "/api/undo", "/api/stop", "/start"])
@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "null"},
        {"origin": "http://evil.example"},
        {"origin": "http://127.0.0.1:9"},
        {"sec_fetch_site": "same-site"},
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate"},  # a form of another site
    ],
)
def test_another_origin_and_another_site_are_refused(guest, place, headers):
    assert status(guest, "POST", place, NEXT, **headers) == 403


def test_other_sites_may_link_here_and_embed_nothing(guest):
    sound = guest.ask()["question"]["sound"]
    for site in ("same-site", "cross-site"):
        embeds = {"sec_fetch_site": site, "sec_fetch_mode": "no-cors"}
        assert status(guest, "GET", sound, **embeds) == 403
        assert status(guest, "GET", "/static/page.js", **embeds) == 403
        assert status(guest, "GET", "/", sec_fetch_site=site, sec_fetch_mode="navigate") == 200


def test_every_response_keeps_other_pages_out(guest):
    paths = ("/", "/start", "/static/page.js", "/none", "/api/state", "/media/0/sound")
    for path in paths:
        guest.connection.request("GET", path, headers={"cookie": guest.cookie})
        got = guest.connection.getresponse()
        got.read()
        policy = got.getheader("content-security-policy")
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert got.getheader("referrer-policy") == "same-origin"
        assert got.getheader("x-content-type-options") == "nosniff"
        assert got.getheader("server") is None
        assert got.getheader("cache-control") == ("no-cache" if "static" in path else "no-store")


def test_no_file_of_the_page_has_inline_scripts_or_styles():
    for file in FILES.glob("*.html"):
        text = file.read_text(encoding="utf-8")
        assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\bsrc=)|javascript:", text)
    assert not re.search(r"https?://(?!www\.w3\.org)", " ".join(map(read, FILES.iterdir())))


def read(path):
    return path.read_text(encoding="utf-8")


# What is sent


def test_what_is_not_json_is_refused_before_it_is_read(guest):
    for kind in ("text/plain", FORM, "application/jsonx", ""):
        assert status(guest, "POST", "/api/next", NEXT, content_type=kind) == 415
    assert status(guest, "POST", "/api/next", NEXT, content_type="application/json; charset=utf-8")


def test_large_bodies_are_refused(guest):
    assert status(guest, "POST", "/api/next", " " * (MOST + 1)) == 413
    assert status(guest, "POST", "/start", "t" * (MOST + 1), content_type=FORM) == 413
    chunked = {"transfer_encoding": "chunked"}
    assert status(guest, "POST", "/api/next", iter([b"2\r\n{}\r\n0\r\n\r\n"]), **chunked) == 413


@pytest.mark.parametrize(
    "body", ["", "{", "[]", "null", '"x"', "[" * 50_000, '{"session": 3}', "\xff"]
)
def test_what_is_not_understood_is_refused(guest, body):
    assert status(guest, "POST", "/api/next", body.encode("latin1")) == 422


GOOD = {"aid": AID, "label": "seven", "mono": 5.0, "wall": 1e9}
EVENT = {"seq": 0, "kind": "key", "mono": 1.0, "wall": 1e9}


@pytest.mark.parametrize(
    "change",
    [
        {"label": None},
        {"refusal": "cannot tell"},
        {"label": "eight"},
        {"label": 7},
        {"label": "x" * 20_001},
        {"label": None, "verdict": "right"},
        {"label": None, "verdict": "maybe"},
        {"label": None, "refusal": "no wish"},
        {"aid": "short"},
        {"aid": "a" * 65},
        {"mono": float("nan")},
        {"mono": float("inf")},
        {"wall": "now"},
        {"words": 3},
        {"x": 1},
        {"next": 1},
        {"events": [{**EVENT, "mono": float("nan")}]},
        {"events": [{**EVENT, "kind": "keydown"}]},
        {"events": [{**EVENT, "key": "a"}]},  # which key is never taken
        {"events": [EVENT, EVENT]},
        {"events": [EVENT, {**EVENT, "seq": 1, "mono": 0.5}]},
        {"events": [{**EVENT, "seq": -1}]},
        {"events": [{**EVENT, "kind": "shown", "mono": 9.0}]},  # after its answer
        {"events": [{**EVENT, "seq": k} for k in range(2001)]},
    ],
)
def test_an_answer_that_makes_no_sense_is_refused(guest, change):
    pid = guest.ask()["question"]["pid"]
    change = {"events": [], **change}
    events = [{"pid": pid, **event} for event in change.pop("events")]
    assert guest.send("/api/answer", **{**GOOD, "pid": pid, "events": events, **change})[0] == 422


ASKED = (
    {"kind": "classes"},
    {"kind": "text", "payload": {"output": "a b"}},
    {"kind": "number"},
    {"kind": "region", "payload": {"base": 1.0, "length": 5.0, "output": "1.0 2.0 a"}},
    {"kind": "verdict", "payload": {"output": "a b c", "correct": "text"}},
)
LABELS = ("seven", "a b", "1", "1e999", "nan", "1.0 2.0 a", "1 2 a|1 2 a", "9e99 1 a", "1.0 nan a",
          "\ud800", "\x1b[2J", "|" * 5000, "", "\n", "1" * 5000)  # fmt: skip
VALUES = (*LABELS, None, True, -1, 1e308, 10**400, 1 << 63, [], {}, "right", "wrong", "\0")


def test_no_body_is_a_fault_of_the_server(tmp_path):
    rng, path, seen = random.Random(1), tmp_path / "answers.sqlite", set()
    with Store(path) as store:
        store.put([Asked(key=f"{k}", **ASKED[k % len(ASKED)]) for k in range(100)])
    with serve(path, SETTINGS) as running:
        robot = Robot(running.links["me"])
        for n in range(200):
            shown = robot.ask()["question"]
            events = [{**EVENT, "seq": n, "pid": shown["pid"]}]
            body = {**GOOD, "aid": f"{n:016}", "pid": shown["pid"], "label": rng.choice(LABELS)}
            body |= {"session": "s" * 8, "events": events}
            for _ in range(n % 3):
                where = rng.choice((body, events[0]))
                where[rng.choice([*where, "verdict", "refusal", "at"])] = rng.choice(VALUES)
            place = rng.choice(("answer", "answer", "events", "undo"))
            code = status(robot, "POST", f"/api/{place}", json.dumps(body))
            assert code in (200, 404, 409, 422), body
            seen.add(code)
    assert seen >= {200, 422}
    assert cli.run(["annotate", str(tmp_path), "--report", "--quiet"]) == 0


def test_how_answers_are_acknowledged(ann):
    pid = ann.ask()["question"]["pid"]
    good = {**GOOD, "pid": pid}
    answers = [good, good, {**good, "label": "other"}, {**good, "aid": "b" * 16}]
    answers.append({**good, "pid": "none"})
    said = [ann.send("/api/answer", **one) for one in answers]
    assert [(code, body["said"]) for code, body in said] == [
        (200, "new"),
        (200, "same"),
        (409, "conflict"),
        (409, "answered"),
        (404, "unknown"),
    ]


def test_what_the_system_has_learnt_from_is_a_conflict(path, ann):
    pid = ann.ask()["question"]["pid"]
    with Store(path) as store:
        store.answer("ann", Given(aid="another tab", pid=pid, label="other"))
        with store._writing() as db:
            db.execute("UPDATE question SET state = 'taken' WHERE key = 'item 0'")
    code, body = ann.send("/api/answer", **GOOD, pid=pid)
    assert (code, body["said"]) == (409, "taken")


# What is told


def test_neither_names_of_files_nor_hidden_fields_nor_keys_are_told(ann):
    told = []
    for k in range(3):
        question = ann.ask()["question"]
        told.append(question)
        for part in ("sound", "image"):
            assert re.fullmatch(rf"/media/[0-9a-f]{{32}}/{part}", question[part])
            ann.connection.request("GET", question[part], headers={"cookie": ann.cookie})
            got = ann.connection.getresponse()
            body = got.read()
            told += [got.getheaders(), body.decode("latin1") if got.status > 299 else ""]
        ann.answer(question["pid"], "seven", aid=f"{k}" * 16)
    told.append(ann.get("/api/state")[1].decode())
    leaks = re.findall(r"theo|jackson|\.wav|picture|gone|10A|item|/tmp", json.dumps(told))
    assert leaks == []


def test_a_stretch_of_a_sound_is_sent_and_no_more(ann):
    ann.answer(ann.ask()["question"]["pid"], "seven")
    question = ann.ask()["question"]
    code, data = ann.get(question["sound"])
    assert (code, len(data), question["start"]) == (200, 44 + 2 * 2000, 0.5)


def test_a_sound_that_is_not_there_is_gone_and_named_where_the_command_runs(path, ann, caplog):
    for _ in range(2):
        ann.answer(ann.ask()["question"]["pid"], "seven")
    question = ann.ask()["question"]
    assert [ann.get(question["sound"])[0] for _ in range(2)] == [410, 410]
    (said,) = [record.getMessage() for record in caplog.records]
    assert str(path.parent / "gone.wav") in said


@pytest.mark.parametrize(
    "place",
    [
        "/media/" + "0" * 32 + "/sound",
        "/media/1/sound",
        "/media/../answers.sqlite",
        "/static/../app.py",
        "/static/..%2fapp.py",
        "/static/%2e%2e%2fapp.py",
        "/static/page.html",
        "/static/none.js",
        "/answers.sqlite",
    ],
)
def test_there_is_nothing_else(guest, place):
    assert guest.get(place)[0] == 404


# What is counted


@pytest.mark.parametrize(
    ("kind", "seen", "label", "kept"),
    [
        ("text", {"output": "the cat sat"}, " the  cat sat", ("the cat sat", 0, 0)),
        ("text", {"output": "the cat sat"}, "a cat sat down", ("a cat sat down", 4, 2)),
        ("text", {"output": "the cat"}, "", ("", 0, 2)),
        ("region", {"output": "9 12 b|0 3 a"}, "10 11.5 b|11 12 c", ("10 11.5 b|11 12 c", 2, 2)),
        ("region", {"output": "9 12 b"}, "10 12 b", ("10 12 b", 0, 0)),
        ("region", {"output": "9 12 b"}, "10 12 a", ("10 12 a", 1, 1)),  # another name
        ("region", {"output": "9 12 b"}, "", ("", 0, 1)),
        ("region", {}, "9.9996 12 b", ("10 12 b", 1, 1)),  # rounded by the page
        ("region", {}, "9.9 12 b", None),
        ("region", {}, "10 13 b", None),
        ("region", {}, "10 12 b c", None),
        ("region", {}, "12 10 b", None),
        ("classes", {"classes": ["up", "down"]}, "up", ("up", 1, 1)),
        ("classes", {"classes": ["up", "down"]}, "seven", None),
        ("verdict", {"output": "x"}, "seven", None),
        ("verdict", {"output": "x", "correct": "classes"}, "seven", ("seven", 1, 1)),
        ("verdict", {"output": "x", "correct": "text"}, "x y", ("x y", 2, 1)),
    ],
)
def test_words_and_actions_are_counted_here(tmp_path, kind, seen, label, kept):
    seen = seen | ({"base": 10.0, "length": 2.0} if kind == "region" else {})
    with Store(tmp_path / "answers.sqlite") as store:
        store.put([Asked(key="k", kind=kind, payload=seen)])
        with serve(store.path, SETTINGS) as page:
            robot = Robot(page.links["me"])
            code, _ = robot.answer(robot.ask()["question"]["pid"], label)
        assert code == (422 if kept is None else 200)
        assert [(r.label, r.words, r.actions) for r in store.answers()] == ([kept] if kept else [])


# How things stand


def test_several_people_stop_each_for_themselves(path):
    with serve(path, SETTINGS, people=("ann", "bob")) as page, Store(path) as store:
        ann, bob = (Robot(page.links[name]) for name in ("ann", "bob"))
        assert ann.send("/api/stop")[1]["said"] == "stopped"
        assert store.meta("state") == "open"
        ann.ask()  # and goes on
        bob.send("/api/stop")
        assert store.meta("state") == "open"
        ann.send("/api/stop")
        assert store.meta("state") == "stopped"
        assert ann.ask()["state"] == "stopped"


def test_who_waits_is_told_that_others_hold_the_last_questions(tmp_path):
    path = tmp_path / "answers.sqlite"
    with Store(path) as store:
        store.put(questions(1))
    with serve(path, SETTINGS, people=("ann", "bob")) as page:
        ann, bob = (Robot(page.links[name]) for name in ("ann", "bob"))
        pid = ann.ask()["question"]["pid"]
        assert (bob.ask()["question"], bob.ask()["waits"]) == (None, True)
        ann.answer(pid, "seven")
        assert (bob.ask()["question"], bob.ask()["waits"]) == (None, False)


def test_a_question_that_comes_later_reaches_who_waits(tmp_path):
    path = tmp_path / "answers.sqlite"
    with Store(path) as store, serve(path, SETTINGS) as page:
        robot, told = Robot(page.links["me"]), []
        waiting = threading.Thread(target=lambda: told.append(robot.ask(wait=20)))
        waiting.start()
        store.put(questions(1))
        waiting.join()
        assert told[0]["question"]


# The server


def test_without_a_certificate_nobody_listens_beyond_this_machine(path):
    for host, said in (
        ("192.0.2.7", "unencrypted.*tls_cert"),
        ("0.0.0.0", "browsers cannot reach it"),
    ):
        with pytest.raises(UsageError, match=re.compile(said)) as raised:
            serve(path, SETTINGS, host=host)
        assert host in str(raised.value)
    with pytest.raises(UsageError, match="belong together"):
        serve(path, SETTINGS, tls_cert="cert.pem")
    with pytest.raises(UsageError, match=r"https://answer\.example\.org"):
        serve(path, SETTINGS, proxy="answer.example.org")
    with pytest.raises(InputError, match=r"none\.pem: cannot be used"):
        serve(path, SETTINGS, tls_cert="none.pem", tls_key="none.key")


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
def test_with_a_certificate_the_page_is_encrypted(tmp_path, path):
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost"]
    made += ["-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", cert]
    subprocess.run(made, check=True, capture_output=True)
    more = {"host": "localhost", "tls_cert": str(cert), "tls_key": str(key)}
    with serve(path, SETTINGS, **more) as page:
        assert page.links["me"].startswith("https://localhost:")
        place, query = page.address.split("/")[2].split(":"), page.links["me"].partition("?")[2]
        trusted = ssl.create_default_context(cafile=cert)
        robot = Robot(page.links["me"], inside=False)
        robot.connection = http.client.HTTPSConnection(*place, context=trusted)
        headers = {"content-type": FORM, "connection": "close"}
        code, _, cookie = robot.call("POST", "/start", query, headers)
        robot.connection.close()
        assert (code, "Secure" in cookie) == (303, True)


def test_behind_a_proxy_only_its_name_is_right(path):
    with serve(path, SETTINGS, proxy="https://answer.example.org/") as page, Store(path) as store:
        assert page.links["me"].startswith("https://answer.example.org/start?token=")
        query = page.links["me"].partition("?")[2]
        robot = Robot(f"http://127.0.0.1:{store.meta('port')}/start?{query}", inside=False)
        assert enter(robot)[0] == 421
        code, _, cookie = enter(robot, host="answer.example.org")
        assert (code, "Secure" in cookie) == (303, True)


@pytest.mark.parametrize(
    ("proxy", "host"),
    [
        ("https://Answer.example.org", "answer.example.org"),
        ("https://answer.example.org:443/", "answer.example.org"),
        ("https://ANSWER:8443", "answer:8443"),
        ("https://[2001:DB8::1]:443", "[2001:db8::1]"),
    ],
)
def test_names_are_known_as_browsers_send_them(path, proxy, host):
    with serve(path, SETTINGS, proxy=proxy) as page, Store(path) as store:
        assert page.address == f"https://{host}/"
        query = page.links["me"].partition("?")[2]
        robot = Robot(f"http://127.0.0.1:{store.meta('port')}/start?{query}", inside=False)
        assert enter(robot, host=host, origin=f"https://{host}")[0] == 303


@pytest.mark.parametrize(
    "proxy",
    ["answer.example.org", "http://a.example", "https://", "https://a:99999", "https://a/sub"],
)
def test_a_proxy_is_an_origin(path, proxy):
    with pytest.raises(UsageError, match=re.escape(repr(proxy))):
        serve(path, SETTINGS, proxy=proxy)


@pytest.mark.parametrize("host", ["127.evil.example", "127.0.0.1.evil.example", "localhost.evil"])
def test_a_name_that_looks_like_this_machine_is_another(path, host):
    with pytest.raises(UsageError, match="unencrypted"):
        serve(path, SETTINGS, host=host)


def test_the_port_of_the_scheme_is_not_in_an_origin():
    assert _origin("http", "localhost", 80) == "http://localhost"
    assert _origin("https", "Host", 443) == "https://host"
    assert _origin("https", "::1", 80) == "https://[::1]:80"


def test_one_server_serves_a_store(path, page):
    with pytest.raises(UsageError, match=r"answers\.sqlite: another command is serving"):
        serve(path, SETTINGS)
    page.stop()
    with pytest.raises(OSError, match="refused"):
        Robot(page.links["me"])
    with serve(path, SETTINGS) as again:
        assert again.address == page.address  # pages that are open go on


def test_a_port_that_is_taken_is_named(path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=f"{port}.*the page cannot be opened there"):
            serve(path, SETTINGS, port=port)
        with Store(path) as store:
            store.set_meta(port=port)
        with serve(path, SETTINGS) as page:  # it was free the last time
            assert str(port) not in page.address
            assert Robot(page.links["me"]).ask()["question"]


def test_the_last_port_is_waited_for(path):
    with socket.create_server(("127.0.0.1", 0)) as taken, Store(path) as store:
        port = taken.getsockname()[1]
        store.set_meta(port=port)
        threading.Timer(0.3, taken.close).start()
        with serve(path, SETTINGS) as page:
            assert str(port) in page.address


@pytest.mark.parametrize("people", [(), ("ann", "ann"), (" ",)])
def test_people_have_names(path, people):
    with pytest.raises(UsageError, match="people are"):
        serve(path, SETTINGS, people=people)


def test_classes_stand_for_one(path):
    with pytest.raises(UsageError, match="classes: a is given twice"):
        serve(path, Settings(classes=("a", "b", "a")))


def test_a_missing_package_says_what_to_install(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(UsageError, match=r"pip install 'truecost\[person\]'"):
        serve(path, SETTINGS)


def test_a_link_does_not_wait_for_the_server(path, monkeypatch):
    """Who opens it sooner than the server is made waits for it."""
    go, made = threading.Event(), web._made
    monkeypatch.setattr(web, "_made", lambda *how: made(*how) if go.wait(60) else None)
    with serve(path, SETTINGS) as page:
        soon = Robot(page.links["me"], inside=False)
        entering = threading.Thread(target=lambda: entered.append(enter(soon)))
        entered = []
        entering.start()
        assert not entered
        go.set()
        entering.join(60)
        assert entered[0][0] == 303


def test_a_page_may_stop_before_its_server_is_made(path, monkeypatch):
    go, made = threading.Event(), web._made
    monkeypatch.setattr(web, "_made", lambda *how: made(*how) if go.wait(60) else None)
    page = serve(path, SETTINGS)
    threading.Timer(0.05, go.set).start()
    page.stop()
    with serve(path, SETTINGS) as again:  # the store and the port are free
        assert again.address == page.address


def test_a_server_that_cannot_be_made_ends_the_command(tmp_path, monkeypatch, caplog, capsys):
    def broken(*_):
        raise ImportError("no h11 here")

    monkeypatch.setattr(web, "_made", broken)
    (tmp_path / "list.csv").write_text("id,text\na,one\n")
    words = ["annotate", f"{tmp_path}/list.csv", "-o", f"{tmp_path}/out", "--classes", "a,b"]
    assert cli.run(words) == 3
    assert "the page cannot be served (ImportError: no h11 here)" in caplog.text
    assert "continue with --resume" in capsys.readouterr().err
    live = LivePerson(store=f"{tmp_path}/out/answers.sqlite")
    expert = LiveExpert(live, "classes", ("a", "b"), lambda _: View())
    with pytest.raises(InputError, match="failed"):
        expert.answer(Question("a"), Batch(0, ("a",), np.zeros((1, 1))))
    expert.close()


def test_the_page_is_known_without_the_packages_that_serve_it():
    heavy = {"starlette", "uvicorn", "polars", "numpy"}
    page = "truecost.cli.annotate, truecost.person.options, truecost.person.web"
    code = f"import sys, {page}; print(*{heavy} & {{*sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_the_link_comes_before_what_lists_and_tables_need(tmp_path):
    """They take more time than all that the page needs; see the target of the command's link."""
    (tmp_path / "list.csv").write_text("id,text\na,one\n")
    code = f"""
import os, sys
from truecost import cli
from truecost.person.web import Page
def announce(page):
    print(*{{"numpy", "polars", "rich.console", "truecost.core"}} & {{*sys.modules}}, flush=True)
    os._exit(7)
Page.announce = announce
cli.run({["annotate", f"{tmp_path}/list.csv", "-o", f"{tmp_path}/out", "--classes", "a,b"]})
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (7, ""), done.stderr


def test_a_full_disk_is_said_and_what_was_acknowledged_is_there(
    path, page, ann, monkeypatch, caplog
):
    first = ann.ask()["question"]["pid"]
    assert ann.send("/api/answer", **GOOD, pid=first)[0] == 200
    question = ann.ask()["question"]["pid"]
    fault = f"{path}: the disk is full: make room"

    def full(*_):
        raise InputError(fault)

    with monkeypatch.context() as patch:
        for name in ("answer", "redeem"):
            patch.setattr(Store, name, full)
        for _ in range(2):
            code, said = ann.send("/api/answer", **{**GOOD, "aid": "b" * 16}, pid=question)
            assert (code, str(path) in said["error"]) == (507, False)
            assert "cannot be stored" in said["error"]
        code, body, cookie = enter(Robot(page.links["me"], inside=False))
        assert (code, b"cannot be stored" in body, str(path).encode() in body) == (507, True, False)
        assert cookie is None
    assert [record.getMessage() for record in caplog.records] == [f"truecost: {fault}"]
    assert ann.send("/api/answer", **{**GOOD, "aid": "b" * 16}, pid=question)[1]["said"] == "new"


def test_files_of_a_store_are_for_its_owner_alone(tmp_path):
    with Store(tmp_path / "new.sqlite") as store:  # the log of its first writing lies beside it
        store.put(questions(1))
        modes = {file.name: oct(file.stat().st_mode & 0o777) for file in tmp_path.iterdir()}
    names = ("new.sqlite", "new.sqlite-wal", "new.sqlite-shm")
    assert modes == dict.fromkeys(names, "0o600")


def test_colours_agree_with_those_of_reports():
    from truecost.pictures.look import DARK, LIGHT

    css = (FILES / "page.css").read_text(encoding="utf-8")
    light, dark = css.split("prefers-color-scheme", 1)
    for palette, text in ((LIGHT, light), (DARK, dark)):
        for name in ("paper", "ink", "soft", "faint", "s0"):
            assert f"--{name}: {palette[name]};" in text
    report = (FILES.parents[1] / "report" / "page.css").read_text(encoding="utf-8")
    report = report.partition("@media print")[0]
    for name in ("tint", "good", "bad"):
        for found in re.findall(rf"--{name}: (#\w+);", report):
            assert f"--{name}: {found};" in css
