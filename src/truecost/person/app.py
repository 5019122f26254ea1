"""The addresses of the page and what they answer, over one store.

GET  /start      a form that sends the token of a link: a preview of the link does not use it up
POST /start      a token for a cookie
GET  /           the page; /static/... its files
GET  /media/...  sounds and pictures by addresses that tell nothing
GET  /api/state  who answers, and the settings
POST /api/next   the next question; waits for one up to 20 s
POST /api/answer an answer and the events before it; gives the next question
POST /api/events, /api/undo, /api/stop

401: no session. 404: unknown. 409: answered already, taken by the system, or another answer under
the same id. 422: not understood. 507: it cannot be stored, the page sends it again; why, and in
which file, is logged for whoever runs the command, and never sent.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from truecost.errors import InputError
from truecost.person.requests import (
    LONGEST,
    AnswerSent,
    EventsSent,
    Guard,
    NextSent,
    PersonSent,
    check_times,
    given_of,
)
from truecost.person.store import Presented, Store
from truecost.person.views import picture_of, sound_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

LOG = logging.getLogger("truecost.person")
FILES = Path(__file__).parent / "static"
TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
POLL = 0.1  # seconds between two looks for a question
STATUS = {"new": 200, "same": 200, "unknown": 404}  # of answers; others are conflicts
NOT_STORED = "The answers cannot be stored: see the messages of the command on the server"
REFUSALS = ("cannot tell", "nothing to hear or see", "bad quality", "none of these")
Sent = TypeVar("Sent")
Handler = Callable[["Request"], Awaitable["Response"]]


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The texts of the page beside the questions, and its mode.

    Attributes
    ----------
    title : str
        Title of the page.
    classes : tuple of str
        Classes to choose from, for questions without their own.
    ask : str
        Text of the question, for questions without their own.
    live : bool
        Whether questions arrive during a run: the page then waits while there is none.
    """

    title: str = "truecost"
    classes: tuple[str, ...] = ()
    ask: str = ""
    live: bool = False


class Site:
    """The handlers of requests for a store.

    `people`: names of those who answer. Nobody else has a session; when all of them have stopped,
    the state becomes `stopped`.
    """

    def __init__(self, store: Store, settings: Settings, people: tuple[str, ...], secure: bool):
        self.store, self.settings, self.people, self.secure = store, settings, {*people}, secure
        self.cookie = f"truecost-{store.meta('id')}"  # cookies do not tell ports apart
        self.away: set[str] = set()
        self.closing = False  # nobody is kept waiting any more
        self.logged: set[str] = set()  # a page asks again and again: each fault is logged once
        self.files = {path.name: path.read_bytes() for path in FILES.iterdir()}

    def application(self, origins: frozenset[str]) -> Guard:
        """The handlers as an ASGI application."""
        from starlette.applications import Starlette
        from starlette.routing import Route

        routes = [
            Route("/start", self.start, methods=["GET"]),
            Route("/start", self.enter, methods=["POST"]),
            Route("/", self.page),
            Route("/static/{name}", self.static),
            Route("/media/{address}/{kind}", self.media),
            Route("/api/state", self.state),
            Route("/api/next", self.posted(NextSent, self.next), methods=["POST"]),
            Route("/api/answer", self.posted(AnswerSent, self.answer), methods=["POST"]),
            Route("/api/events", self.posted(EventsSent, self.events), methods=["POST"]),
            Route("/api/undo", self.posted(PersonSent, self.undo), methods=["POST"]),
            Route("/api/stop", self.posted(PersonSent, self.stop), methods=["POST"]),
        ]
        faults = {InputError: self.not_stored}
        return Guard(Starlette(routes=routes, exception_handlers=faults), origins)

    async def not_stored(self, request: "Request", fault: Exception) -> "Response":
        """The response if the store cannot be read or written."""
        self._log(str(fault))
        if request.url.path.startswith("/api/"):
            return _error(NOT_STORED, 507)
        return _notice("truecost", f"{NOT_STORED}.", status=507)

    # Entering

    async def start(self, request: "Request") -> "Response":
        """A form with the token, which sends itself where scripts run."""
        token = "".join(c for c in request.query_params.get("token", "") if c.isalnum())[:64]
        form = (
            '<form id="enter" method="post" action="/start">'
            f'<input type="hidden" name="token" value="{token}">'
            '<button class="main">Begin</button></form>'
            '<script src="/static/enter.js"></script>'
        )
        return _notice("truecost", "This button opens the page with the questions.", form)

    async def enter(self, request: "Request") -> "Response":
        """A token for a cookie; the browser that a used token opened goes on."""
        body = (await request.body()).decode("latin1")
        token = body.removeprefix("token=")[:64]
        person, cookie = await _away(self.store.redeem, token) or (None, None)
        if cookie is None:
            person = await _away(self.store.who, token, "used")
        if person not in self.people or (cookie is None and person != await self._person(request)):
            text = (
                "A link works in one browser only. Make a new one with truecost annotate DIR "
                "--link."
            )
            return _notice("This link cannot be used", text, status=403)
        reply = _reply(b"", 303, headers={"location": "/"})
        if cookie is not None:
            rules = {"httponly": True, "samesite": "strict", "secure": self.secure, "path": "/"}
            reply.set_cookie(self.cookie, cookie, max_age=30 * 86400, **rules)  # type: ignore[arg-type]
        return reply

    async def page(self, request: "Request") -> "Response":
        """The page itself."""
        if await self._person(request) is None:
            text = "Open the link that the command printed, in this browser."
            return _notice("No session", text, status=401)
        return _reply(self.files["page.html"], kind="text/html")

    async def static(self, request: "Request") -> "Response":
        """One of the files of the page."""
        name = request.path_params["name"]
        if name not in self.files or name == "page.html":
            return _reply(b"", 404)
        kind = TYPES[name.rpartition(".")[2]]
        return _reply(self.files[name], kind=kind, headers={"cache-control": "no-cache"})

    async def media(self, request: "Request") -> "Response":
        """A sound or a picture."""
        if await self._person(request) is None:
            return _error("no session", 401)
        kind = request.path_params["kind"]
        sound, image, span = await _away(self.store.media, request.path_params["address"])
        path = {"sound": sound, "image": image}.get(kind)
        if path is None:
            return _error("no such sound or picture", 404)
        try:
            if kind == "sound":
                data, media_type = await _away(sound_of, path, span)
            else:
                data, media_type = await _away(picture_of, path)
        except InputError as error:  # its message names the file, which may be the label
            self._log(str(error))
            return _error(f"the {kind} cannot be read", 410)
        headers = {"cache-control": "private, max-age=3600"}
        return _reply(data, kind=media_type, headers=headers)

    # Questions and answers

    def posted(self, sent: type[Sent], work: Callable[[str, Sent], Awaitable[Any]]) -> Handler:
        """The handler of a POST request: the body has the type `sent`, the person a session."""

        async def handler(request: "Request") -> "Response":
            from starlette.requests import ClientDisconnect

            person = await self._person(request)
            if person is None:
                return _error("no session: open the link that the command printed", 401)
            try:
                body = msgspec.json.decode(await request.body(), type=sent)
            except ClientDisconnect:
                return _reply(b"", 400)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                return _error(f"not understood: {str(error)[:200]}", 422)
            reply = await work(person, body)
            return _json(reply) if isinstance(reply, dict) else reply

        return handler

    async def state(self, request: "Request") -> "Response":
        """The person who answers, and the settings."""
        person = await self._person(request)
        if person is None:
            return _error("no session", 401)
        limits = {"refusals": REFUSALS, "longest": LONGEST}
        settings = msgspec.to_builtins(self.settings) | limits
        return _json({"person": person, "store": self.store.meta("id"), "settings": settings})

    async def next(self, person: str, sent: NextSent) -> dict[str, Any]:
        """The next question, or how things stand where there is none in time."""
        self.away.discard(person)
        end = time.monotonic() + sent.wait
        status: dict[str, Any] = await _away(self._status, person, sent.session)
        while status["question"] is None and status["state"] == "open" and not self._over(end):
            await asyncio.sleep(POLL)
            if await _away(self._changed, person):
                status = await _away(self._status, person, sent.session)
        return status

    async def answer(self, person: str, sent: AnswerSent) -> "Response":
        """Keep an answer and the events before it."""

        def store_answer() -> "Response":
            asked = self.store.asked(sent.pid)
            if asked is None:
                return _json({"said": "unknown"}, 404)
            try:
                given = given_of(sent, *asked, self.settings.classes, REFUSALS)
            except InputError as error:
                return _error(str(error), 422)
            result = self.store.answer(person, given, sent.session, sent.events)
            wanted = sent.next and result in ("new", "same")
            following = self._status(person, sent.session) if wanted else None
            return _json({"said": result, "next": following}, STATUS.get(result, 409))

        reply: Response = await _away(store_answer)
        return reply

    async def events(self, person: str, sent: EventsSent) -> "Response":
        """Keep events."""
        try:
            check_times(sent.events)
        except InputError as error:
            return _error(str(error), 422)
        await _away(self.store.events, person, sent.session, sent.events)
        return _json({"kept": sent.events[-1].seq if sent.events else -1})

    async def undo(self, person: str, sent: PersonSent) -> dict[str, Any]:
        """Take the last answer back, and show it again."""
        result = await _away(self.store.undo, person)
        return {"said": result, "next": await _away(self._status, person, sent.session)}

    async def stop(self, person: str, sent: PersonSent) -> dict[str, Any]:  # noqa: ARG002
        """Note that a person has stopped; when all have, the run stops, and its server with it."""
        self.away.add(person)
        if self.people <= self.away:
            await _away(lambda: self.store.set_meta(state="stopped"))
        return {"said": "stopped", "state": await _away(self.store.meta, "state")}

    def _log(self, fault: str) -> None:
        """Log a fault where the command runs."""
        if fault not in self.logged:
            self.logged.add(fault)
            LOG.warning("truecost: %s", fault)

    def _over(self, end: float) -> bool:
        return self.closing or time.monotonic() > end

    async def _person(self, request: "Request") -> str | None:
        person = await _away(self.store.who, request.cookies.get(self.cookie))
        return person if person in self.people else None

    def _changed(self, person: str) -> bool:
        """Whether there is news for a waiting person."""
        return self.store.meta("state") != "open" or self.store.ready(person)

    def _status(self, person: str, session: str) -> dict[str, Any]:
        """The next question and the progress."""
        found = self.store.next(person, session)
        progress = self.store.progress()
        return {
            "question": None if found is None else self._shown(found),
            "ahead": None if found is None or not found.ahead else f"/media/{found.ahead}/sound",
            "waits": found is None and self.store.waits(person),
            "total": progress.total,
            "done": progress.done,
            "mine": self.store.answered_by(person),
            "state": self.store.meta("state"),
        }

    def _shown(self, found: Presented) -> dict[str, Any]:
        """A question in the form that the page gets."""
        return {
            **msgspec.to_builtins(found.seen),
            "pid": found.pid,
            "kind": found.kind,
            "start": found.start,
            "sound": found.sound and f"/media/{found.sound}/sound",
            "image": found.image and f"/media/{found.image}/image",
        }


async def _away(work: Callable[..., Any], *values: Any) -> Any:
    """Work that waits for the disk, in a thread: others are answered meanwhile."""
    from starlette.concurrency import run_in_threadpool

    return await run_in_threadpool(work, *values)


def _reply(
    body: bytes, status: int = 200, kind: str = "text/plain", headers: dict[str, str] | None = None
) -> "Response":
    from starlette.responses import Response

    return Response(body, status, headers, kind)


def _json(value: Any, status: int = 200) -> "Response":
    """A JSON response with a value and the time of the server."""
    body = msgspec.json.encode({**value, "t": time.time()})
    return _reply(body, status, "application/json")


def _error(text: str, status: int) -> "Response":
    return _json({"error": text}, status)


def _notice(title: str, text: str, more: str = "", status: int = 200) -> "Response":
    """A small page of one sentence."""
    body = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f"<title>{escape(title)}</title>"
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<link rel="icon" href="/static/icon.svg"><link rel="stylesheet" href="/static/page.css">'
        f"</head><body><main><h1>{escape(title)}</h1><p>{escape(text)}</p>{more}</main></body>"
        "</html>"
    )
    return _reply(body.encode(), status, "text/html")
