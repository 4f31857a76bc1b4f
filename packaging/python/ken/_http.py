"""Requests to Ken's REST API, with the standard library alone."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from typing import Any

from ken import _problem
from ken._problem import KenError

TIMEOUT = 60.0  # seconds for an answer


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect could send the key to another server."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def is_loopback(url: str) -> bool:
    """Whether an address is this machine's own."""
    host = (urllib.parse.urlsplit(url).hostname or "").lower()
    return host in ("localhost", "::1") or host.endswith(".localhost") or host.startswith("127.")


class Connection:
    """Sends requests to one address. It is safe for threads: each request has its own connection."""

    def __init__(self, url: str, headers: Mapping[str, str], check: Callable[[], None]) -> None:
        self.url = url
        self._check = check
        self.headers = headers
        handlers: list[urllib.request.BaseHandler] = [_NoRedirect()]
        if is_loopback(url):
            handlers.append(urllib.request.ProxyHandler({}))  # a proxy would look on its own machine
        self.opener = urllib.request.build_opener(*handlers)

    def address(self) -> str:
        """Return the address. It changes if the server ends and another one is started."""
        self._check()
        return self.url

    def send(self, method: str, path: str, body: Mapping[str, Any] | None = None, query: Mapping[str, str] | None = None,
             timeout: float = TIMEOUT, has: str = "") -> Any:
        """Send one request, and return the JSON of the answer, which has the field ``has``. Errors: KenError."""
        try:
            data = None if method in ("GET", "DELETE") else json.dumps(body or {}).encode()
        except (TypeError, ValueError) as failed:
            raise KenError(f"the request can't be written as JSON: {failed}", code="invalid",
                           hint="Use strings, numbers, lists and dictionaries alone.") from failed
        url = self.address() + path + ("?" + urllib.parse.urlencode(query) if query else "")
        headers = {**self.headers, "Content-Type": "application/json", "Accept": "application/json, application/problem+json"}
        request = urllib.request.Request(url, data=data, headers=headers, method=method)
        try:
            with self.opener.open(request, timeout=timeout) as answer:
                said = json.load(answer)
        except urllib.error.HTTPError as refused:
            with refused:
                raise _problem.of_answer(refused.code, _said(refused), refused.headers.get("X-Ken-Error")) from None
        except (OSError, ValueError, http.client.HTTPException) as failed:
            raise KenError(f"there is no answer from {self.url}: {getattr(failed, 'reason', failed)}", code="unavailable",
                           hint="Check that ken serve runs there; KEN_URL and the argument url name the address.") from failed
        if has and not (isinstance(said, dict) and has in said):
            raise KenError(f"the answer of {self.url} is none of Ken's", code="unavailable", hint="Check that KEN_URL is the address of a ken serve.")
        return said


def _said(refused: urllib.error.HTTPError) -> bytes:
    try:
        return refused.read()
    except (OSError, http.client.HTTPException):
        return b""


def address(url: str) -> str:
    """Check the address of a Ken, and return it as requests need it."""
    try:
        u = urllib.parse.urlsplit(url)
        good = u.scheme in ("http", "https") and bool(u.hostname)
    except (AttributeError, TypeError, ValueError):
        good = False
    if not good:
        raise KenError(f"{url!r} is no address of a ken serve", code="invalid", field="url", hint="Write it like http://127.0.0.1:8484.")
    return url.rstrip("/").removesuffix("/v1")


def filled(field: str, value: str) -> str:
    """Check that a value is a text with something in it."""
    if not isinstance(value, str):
        raise KenError(f"{type(value).__name__} where a string is expected", code="invalid", field=field, hint="Give a string.")
    if not value:
        raise KenError("empty", code="invalid", field=field, hint="Give a value, or leave it out.")
    return value


def plain(field: str, value: str) -> str:
    """Check a name or a key that goes into a header."""
    if len(filled(field, value)) > 128 or not value.isascii() or not value.isprintable():
        raise KenError("the value has more than 128 characters, or others than ASCII", code="invalid", field=field,
                       hint="Use letters, digits and signs such as - and _.")
    return value


def part(field: str, name: str) -> str:
    """Write a name as one part of a path."""
    return urllib.parse.quote(filled(field, name), safe="")
