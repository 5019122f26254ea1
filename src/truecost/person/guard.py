"""Host, origin, kind and size of a request are checked before anything of it is read, and every
response gets the headers that keep other pages out.

A page of another site can send requests to this server, though not read what comes back; a name of
another site can be made to point here (DNS rebinding). Hence the checks of the host and the origin
beside the cookie.
"""

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST = 262_144  # bytes of a request
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "media-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",  # with no-referrer the form that enters sends Origin: null
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "x-frame-options": "DENY",
    "cache-control": "no-store",
}


class Refusal(msgspec.Struct, frozen=True):
    """Status and reason."""

    status: int
    reason: str


class Guard:
    """An application behind the checks.

    `origins`: how a browser may name this server, such as `http://127.0.0.1:8000`.
    """

    def __init__(self, app: "ASGIApp", origins: frozenset[str]) -> None:
        self.app = app
        self.origins = origins
        self.hosts = {origin.partition("://")[2] for origin in origins}

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        sent = {k.decode("latin1"): v.decode("latin1") for k, v in scope["headers"]}
        refusal = self.refusal(scope["method"], scope["path"], sent)

        async def send_with_headers(message: "Message") -> None:
            if message["type"] == "http.response.start":
                have = {name for name, _ in message["headers"]}
                more = ((name.encode(), value.encode()) for name, value in HEADERS.items())
                message["headers"] = [*message["headers"], *(h for h in more if h[0] not in have)]
            await send(message)

        if refusal is None:
            await self.app(scope, receive, send_with_headers)
        else:
            await _refuse(refusal, send_with_headers)

    def refusal(self, method: str, path: str, sent: dict[str, str]) -> Refusal | None:
        """Why a request is refused; None when it is not."""
        host, origin, site = (sent.get(name) for name in ("host", "origin", "sec-fetch-site"))
        reads = method in ("GET", "HEAD")
        if host not in self.hosts:
            return Refusal(421, f"this server is {', '.join(sorted(self.hosts))}")
        if origin is not None and origin not in self.origins:
            return Refusal(403, "the request comes from another origin")
        if site not in (None, "same-origin", "none") and not (
            reads and sent.get("sec-fetch-mode") == "navigate"
        ):
            return Refusal(403, "the request comes from another site")
        if reads:
            return None
        kind = sent.get("content-type", "").partition(";")[0].strip().lower()
        if path.startswith("/api/") and kind != "application/json":
            return Refusal(415, "expected application/json")
        length = sent.get("content-length", "0")
        if "transfer-encoding" in sent or not length.isdigit() or int(length) > MOST:
            return Refusal(413, f"at most {MOST} bytes, and a content-length")
        return None


async def _refuse(refusal: Refusal, send: "Send") -> None:
    body = f"{refusal.reason}\n".encode()
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),  # the body was not read
    ]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
