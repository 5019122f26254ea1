"""The server of the page: it listens before anything is printed, and runs in a thread of this
process.

It listens on this machine only, unless another host is named, with a certificate, or the address of
a proxy that has one. One server at a time serves a store. The store records the port: an open page
continues when the command runs again.
"""

import logging
import os
import socket
import ssl
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from importlib.util import find_spec
from ipaddress import ip_address
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

from truecost.errors import InputError, UsageError, first_five, need
from truecost.formats.publishing import locked
from truecost.person.app import Settings, Site
from truecost.person.store import Store

if TYPE_CHECKING:
    import uvicorn
    from starlette.types import ASGIApp

__all__ = ["Page", "Settings", "serve"]
LOG = logging.getLogger("truecost.person")
LOOPBACK = ("127.0.0.1", "localhost", "::1")
EVERYWHERE = ("", "0.0.0.0", "::")
BACKLOG = 256
LEAVE = 2  # seconds that open requests have when the server stops
AGAIN = 1.0  # seconds in which the last port may become free: a page that is open knows no other


@dataclass(eq=False)
class Page:
    """A running page; a context manager.

    Attributes
    ----------
    links : dict of str to str
        One-time link of each person, by name.
    address : str
        Address of the page, for browsers that are signed in.
    """

    links: dict[str, str]
    address: str
    _site: Site
    _server: "_Server"
    _held: ExitStack = field(repr=False)

    def announce(self) -> None:
        """Print the link of each person: on standard error, unless logging is set up otherwise."""
        for person, link in self.links.items():
            LOG.warning("truecost: to answer as %s, open %s", person, link)

    def stop(self) -> None:
        """Stop serving; open pages keep the data that they could not send."""
        self._site.closing = True
        self._server.stop()
        self._held.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


def serve(
    store_path: str | Path,
    settings: Settings,
    port: int = 0,
    host: str = "127.0.0.1",
    people: Sequence[str] = ("me",),
    tls_cert: str | None = None,
    tls_key: str | None = None,
    proxy: str | None = None,
) -> Page:
    """Serve the page of a store, with a one-time link for each person.

    Parameters
    ----------
    store_path : str or Path
        Path of the store, which is created if it does not exist.
    port : int
        Port; 0 for that of the last time, or any free one.
    host : str
        Name or address of this machine by which browsers reach it.
    people : sequence of str
        Names of the people who answer.
    tls_cert, tls_key : str, optional
        Certificate and key, as PEM files; required for other machines.
    proxy : str, optional
        Address of a proxy before this server that has the certificate, such as
        `https://answer.example.org`; then `host` is where the proxy reaches it.

    Raises
    ------
    UsageError
        When starlette or uvicorn is missing, the port is taken, the host needs a certificate, or
        another server serves the store.
    InputError
        When the store or the certificate cannot be read.
    """
    check_packages()
    names = _checked_people(people)
    _check_settings(settings)
    scheme = _checked_host(host, tls_cert, tls_key, proxy)
    with ExitStack() as held:
        _hold(Path(store_path), held)
        store = held.enter_context(Store(store_path))
        _check_kind(store, "live" if settings.live else "list")
        bound = _bound(host, port, store.meta("port", 0))
        held.callback(bound.close)
        port = bound.getsockname()[1]
        origins = _origins(scheme, host, port, proxy)
        site = Site(store, settings, names, secure=origins[0].startswith("https"))
        server = _Server(
            lambda: _made(site.application(frozenset(origins)), tls_cert, tls_key), bound, store
        )
        if tls_cert is not None:
            server.make()  # it may be no certificate
        store.set_meta(port=port, origin=origins[0], state="open", people=[*names])
        links = {name: f"{origins[0]}/start?token={store.launch(name)}" for name in names}
        server.start()
        return Page(links, f"{origins[0]}/", site, server, held.pop_all())


def check_packages() -> None:
    """UsageError where the packages of the server are not installed; they are imported later."""
    for name in ("uvicorn", "starlette"):
        if find_spec(name) is None:
            need(name, "person")


class _Server(threading.Thread):
    """A server in a thread of its own: its imports take longer than everything before the link, and
    a browser that is faster waits in the queue of the socket.
    """

    def __init__(
        self, make: Callable[[], "uvicorn.Server"], bound: socket.socket, store: Store
    ) -> None:
        super().__init__(name="truecost page", daemon=True)
        self._make, self._bound, self._store = make, bound, store
        self._made: uvicorn.Server | None = None
        self._over = False

    def make(self) -> "uvicorn.Server":
        """The server, made once."""
        self._made = self._made or self._make()
        return self._made

    def run(self) -> None:
        """Serve until `stop`; jobs that wait for answers read in the store that nobody is asked."""
        try:
            server = self.make()
        except Exception as error:
            LOG.error("truecost: the page cannot be served (%s: %s)", type(error).__name__, error)
            self._store.set_meta(state="failed")
            return
        server.should_exit = self._over  # before it was made
        server.run([self._bound])

    def stop(self) -> None:
        """Stop, and wait for the end of the thread."""
        self._over = True
        if self._made is not None:
            self._made.should_exit = True
        self.join()


def _made(application: "ASGIApp", cert: str | None, key: str | None) -> "uvicorn.Server":
    """A server that does not run yet; InputError where the certificate cannot be used."""
    import uvicorn

    config = uvicorn.Config(
        application,
        log_config=None,
        log_level="critical",
        access_log=False,
        lifespan="off",
        ws="none",
        loop="asyncio",
        http="h11",
        server_header=False,
        proxy_headers=False,
        backlog=BACKLOG,
        timeout_graceful_shutdown=LEAVE,
        timeout_keep_alive=75,
        ssl_certfile=cert,
        ssl_keyfile=key,
    )
    try:
        config.load()
    except (OSError, ssl.SSLError) as error:
        raise InputError(
            f"--tls-cert {cert}: cannot be used ({error}): give a certificate and its key as PEM"
        ) from error
    return uvicorn.Server(config)


def _checked_people(people: Sequence[str]) -> tuple[str, ...]:
    """Names of people, each once."""
    names = tuple(people)
    if (
        not names
        or len({*names}) < len(names)
        or not all(name.strip() and name.isprintable() for name in names)
    ):
        raise UsageError(
            f"people are {', '.join(map(repr, names))}: give one name or more, each once"
        )
    return names


def _check_settings(settings: Settings) -> None:
    """UsageError when two classes have one name."""
    twice = sorted({name for name in settings.classes if settings.classes.count(name) > 1})
    if twice:
        raise UsageError(
            f"classes: {first_five(twice)} {'is' if len(twice) == 1 else 'are'} given twice: give "
            "each once"
        )


def _check_kind(store: Store, kind: str) -> None:
    """Record whether questions come from a live run or a list; UsageError where the store has
    others.
    """
    noted = store.meta("kind", kind)
    if noted != kind:
        of = {"live": "a live run", "list": "a list"}
        raise UsageError(
            f"{store.path}: contains answers about {of[noted]}, but this run asks about "
            f"{of[kind]}: choose another --output"
        )
    store.set_meta(kind=kind)


def is_served(store_path: str | Path) -> bool:
    """Whether a server runs for a store."""
    with ExitStack() as held:
        try:
            _hold(Path(store_path), held)
        except UsageError:
            return True
    return False


def _checked_host(host: str, cert: str | None, key: str | None, proxy: str | None) -> str:
    """The scheme of this server; UsageError where answers would cross a network unencrypted."""
    if host in EVERYWHERE:
        raise UsageError(
            f"--host {host!r}: browsers cannot reach it: give the name or address of this machine"
        )
    if (cert is None) != (key is None):
        raise UsageError("--tls-cert and --tls-key belong together: give both")
    if proxy is not None and _proxy_origin(proxy) is None:
        raise UsageError(f"--proxy {proxy!r}: give its address, such as https://answer.example.org")
    if cert is None and proxy is None and not _is_loopback(host):
        raise UsageError(
            f"--host {host}: answers and cookies would cross the network unencrypted: give "
            "--tls-cert and --tls-key, or the --proxy that has a certificate"
        )
    return "https" if cert else "http"


def _is_loopback(host: str) -> bool:
    try:
        return host.lower() == "localhost" or ip_address(host).is_loopback
    except ValueError:  # a name, which may stand for any machine
        return False


def _origin(scheme: str, host: str, port: int | None) -> str:
    """An origin in the form of browsers: in lower case, without the default port of the scheme."""
    shown = f"[{host}]" if ":" in host else host
    own = port in (None, {"http": 80, "https": 443}[scheme])
    return f"{scheme}://{shown.lower()}" + ("" if own else f":{port}")


def _proxy_origin(proxy: str) -> str | None:
    """The origin of an address such as `https://answer.example.org`; None for any other text."""
    try:
        parts = urlsplit(proxy)
        host, port = parts.hostname, parts.port
    except ValueError:  # no port, or no IPv6 address
        return None
    if parts.scheme != "https" or not host or parts.path not in ("", "/"):
        return None
    return _origin("https", host, port)


def _origins(scheme: str, host: str, port: int, proxy: str | None) -> list[str]:
    """Names of this server in browsers; the first is used in the links."""
    if proxy is not None:
        return [found for found in [_proxy_origin(proxy)] if found]
    others = LOOPBACK if _is_loopback(host) else ()
    return list(dict.fromkeys(_origin(scheme, name, port) for name in (host, *others)))


def _hold(store: Path, held: ExitStack) -> None:
    """Be the only server of a store, as long as `held` is open."""
    place = store.with_name(f"{store.name}.lock")
    try:
        lock = os.open(place, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise InputError(f"{place}: cannot be written ({error.strerror})") from error
    held.callback(os.close, lock)
    if locked(lock) is False:
        raise UsageError(
            f"{store}: another command is serving this folder: answer on its page, or stop it first"
        )


def _bound(host: str, port: int, last: int) -> socket.socket:
    """A listening socket: on the given port, otherwise on the last one, which is tried for `AGAIN`
    seconds, otherwise on any.
    """
    for wanted in dict.fromkeys([port or last, port]):
        end = time.monotonic() + (AGAIN if wanted and not port else 0)
        while True:
            try:
                return _listening(host, wanted)
            except OSError as error:
                fault = error
            if time.monotonic() >= end:
                break
            time.sleep(0.02)
    where = f"--port {port}" if port else f"--host {host}"
    raise UsageError(
        f"{where}: the page cannot be opened there ({fault.strerror}): choose another, or "
        "leave it out"
    ) from fault


def _listening(host: str, port: int) -> socket.socket:
    """A socket that listens; OSError when it cannot."""
    family, kind, protocol, _, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    made = socket.socket(family, kind, protocol)
    try:
        if os.name == "posix":  # elsewhere this would share a port that is in use
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(where)
        made.listen(BACKLOG)
    except OSError:
        made.close()
        raise
    return made
