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
the same id. 422: not understood. 507: it cannot be kept, the page sends it again.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import msgspec

from truecost.errors import InputError
from truecost.person.guard import Guard
from truecost.person.media import picture_of, sound_of
from truecost.person.sent import AnswerSent, EventsSent, NextSent, PersonSent, check_times, given_of
from truecost.person.store import Presented, Seen, Store

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

FILES = Path(__file__).parent / "static"
TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
POLL = 0.1  # seconds between two looks for a question
STATUS = {"new": 200, "same": 200, "unknown": 404}  # of answers; others are conflicts
REFUSALS = ("cannot tell", "nothing to hear or see", "bad quality", "none of these")
Sent = TypeVar("Sent")
Handler = Callable[["Request"], Awaitable["Response"]]


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What the page shows beside the questions.

    Attributes
    ----------
    title : str
    classes : tuple of str
        Of questions that have none of their own.
    ask : str
        The question in words, where it has none of its own.
    refusals : tuple of str
        Reasons for which a person may give no answer.
    guess : {"hidden", "shown"}
        Whether the system's output is in view; a verdict always is about one.
    live : bool
        Questions come as a run goes on: while there is none the page waits.
    autoplay : bool
        Sounds start by themselves.
    keys : tuple of str
        Of the classes, in their order; by default digits, then letters.
    """

    title: str = "truecost"
    classes: tuple[str, ...] = ()
    ask: str = ""
    refusals: tuple[str, ...] = REFUSALS
    guess: Literal["hidden", "shown"] = "shown"
    live: bool = False
    autoplay: bool = False
    keys: tuple[str, ...] = ()


class Site:
    """The handlers of a store.

    `people` are those who answer: when all of them have stopped, the state becomes `stopped`.
    """

    def __init__(self, store: Store, settings: Settings, people: tuple[str, ...], secure: bool):
        self.store, self.settings, self.people, self.secure = store, settings, {*people}, secure
        self.cookie = f"truecost-{store.meta('id')}"  # cookies do not tell ports apart
        self.away: set[str] = set()
        self.closing = False  # nobody is kept waiting any more
        self.files = {path.name: path.read_bytes() for path in FILES.iterdir()}

    def application(self, origins: frozenset[str]) -> Guard:
        """All of it as an ASGI application."""
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
        return Guard(Starlette(routes=routes), origins)

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
        return _notice("truecost", "This opens the page on which you answer.", form)

    async def enter(self, request: "Request") -> "Response":
        """A token for a cookie; a browser that is in already goes on."""
        body = (await request.body()).decode("latin1")
        token = body.removeprefix("token=")[:64]
        found = await _away(self.store.redeem, token)
        if found is None and await self._person(request) is None:
            said = "A link opens one browser. Ask for a new one: truecost annotate DIR --link."
            return _notice("This link was used", said, status=403)
        answer = _reply(b"", 303, headers={"location": "/"})
        if found is not None:
            rules = {"httponly": True, "samesite": "strict", "secure": self.secure, "path": "/"}
            answer.set_cookie(self.cookie, found[1], max_age=30 * 86400, **rules)  # type: ignore[arg-type]
        return answer

    async def page(self, request: "Request") -> "Response":
        """The page itself."""
        if await self._person(request) is None:
            said = "Open the link that the command printed, in this browser."
            return _notice("No session", said, status=401)
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
                data, of = await _away(sound_of, path, span)
            else:
                data, of = await _away(picture_of, path)
        except InputError:  # its message names the file, which may be the label
            return _error(f"the {kind} cannot be read", 410)
        return _reply(data, kind=of, headers={"cache-control": "private, max-age=3600"})

    # Questions and answers

    def posted(self, sent: type[Sent], work: Callable[[str, Sent], Awaitable[Any]]) -> Handler:
        """A handler of a body of a type, of a person with a session."""

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
            try:
                found = await work(person, body)
            except InputError as error:
                return _error(str(error), 507)
            return found if not isinstance(found, dict) else _json(found)

        return handler

    async def state(self, request: "Request") -> "Response":
        """Who answers, and the settings."""
        person = await self._person(request)
        if person is None:
            return _error("no session", 401)
        settings = msgspec.to_builtins(self.settings)
        return _json({"person": person, "store": self.store.meta("id"), "settings": settings})

    async def next(self, person: str, sent: NextSent) -> dict[str, Any]:
        """The next question, or how things stand where there is none in time."""
        self.away.discard(person)
        end = time.monotonic() + sent.wait
        told: dict[str, Any] = await _away(self._told, person, sent.session)
        while told["question"] is None and told["state"] == "open" and not self._over(end):
            await asyncio.sleep(POLL)
            if await _away(self._changed, person):
                told = await _away(self._told, person, sent.session)
        return told

    async def answer(self, person: str, sent: AnswerSent) -> "Response":
        """Keep an answer and the events before it."""

        def kept() -> "Response":
            found = self.store.asked(sent.pid)
            if found is None:
                return _json({"said": "unknown"}, 404)
            classes, refusals = self.settings.classes, self.settings.refusals
            try:
                kind, seen = found[0], self._visible(*found)
                given = given_of(sent, kind, seen, classes, refusals)
            except InputError as error:
                return _error(str(error), 422)
            said = self.store.answer(person, given, sent.session, sent.events)
            wanted = sent.next and said in ("new", "same")
            following = self._told(person, sent.session) if wanted else None
            return _json({"said": said, "next": following}, STATUS.get(said, 409))

        answer: Response = await _away(kept)
        return answer

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
        said = await _away(self.store.undo, person)
        return {"said": said, "next": await _away(self._told, person, sent.session)}

    async def stop(self, person: str, sent: PersonSent) -> dict[str, Any]:  # noqa: ARG002
        """Note that a person has stopped; when all have, the run stops."""
        self.away.add(person)
        if self.people <= self.away:
            await _away(lambda: self.store.set_meta(state="stopped"))
        return {"said": "stopped"}

    def _over(self, end: float) -> bool:
        return self.closing or time.monotonic() > end

    async def _person(self, request: "Request") -> str | None:
        person: str | None = await _away(self.store.who, request.cookies.get(self.cookie))
        return person

    def _changed(self, person: str) -> bool:
        """Whether there is news for a person who waits."""
        return self.store.meta("state") != "open" or self.store.ready(person)

    def _told(self, person: str, session: str) -> dict[str, Any]:
        """The next question and how things stand."""
        found = self.store.next(person, session)
        progress = self.store.progress()
        return {
            "question": None if found is None else self._shown(found),
            "ahead": None if found is None or not found.ahead else f"/media/{found.ahead}/sound",
            "waits": found is None and self.store.waits(person),
            "total": progress.total,
            "done": progress.done,
            "mine": self.store.answered_by(person),
            **{key: self.store.meta(key) for key in ("state", "note")},
        }

    def _shown(self, found: Presented) -> dict[str, Any]:
        """A question as the page gets it."""
        return {
            **msgspec.to_builtins(self._visible(found.kind, found.seen)),
            "pid": found.pid,
            "kind": found.kind,
            "start": found.start,
            "sound": found.sound and f"/media/{found.sound}/sound",
            "image": found.image and f"/media/{found.image}/image",
        }

    def _visible(self, kind: str, seen: Seen) -> Seen:
        """What of a question is in view."""
        hidden = self.settings.guess == "hidden" and kind != "verdict"
        return msgspec.structs.replace(seen, output=None) if hidden else seen


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
    """A value, and the time of the server."""
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
