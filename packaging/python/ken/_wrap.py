"""Model clients whose calls go through Ken."""

from __future__ import annotations

import importlib
import logging
import urllib.parse
import urllib.request
from collections.abc import Callable
from typing import Any, TypeVar, cast

from ken._http import is_loopback
from ken._model import Endpoint
from ken._problem import KenError

Client = TypeVar("Client")

log = logging.getLogger("ken")

# Clients that sign requests or write other paths than OpenAI's and Anthropic's own APIs have.
_OTHERS = ("Azure", "Bedrock", "Vertex", "Foundry")


def api_of(client: object) -> str:
    """Return the API that a client uses: "openai" or "anthropic"."""
    names = [c.__name__ for c in type(client).__mro__ if c.__module__.split(".")[0] in ("openai", "anthropic")]
    if not any(other in name for name in names for other in _OTHERS) and getattr(client, "_provider", None) is None:
        for api, own in (("openai", ("OpenAI", "AsyncOpenAI")), ("anthropic", ("Anthropic", "AsyncAnthropic"))):
            if any(name in names for name in own):
                return api
    raise KenError(f"{type(client).__name__} is none of OpenAI, AsyncOpenAI, Anthropic and AsyncAnthropic", code="invalid", field="client",
                   hint="Use Ken.prepare, or the module for your framework, such as ken.langchain.")


def upstream_of(client: Any, api: str) -> str:
    """Return the API's base URL with the version, as Ken's header X-Ken-Upstream has it."""
    base = str(client.base_url).rstrip("/")
    return base + "/v1" if api == "anthropic" else base


def wrap(client: Client, api: str, endpoint: Callable[[], Endpoint], moves: bool) -> Client:
    """Return a copy of a client that sends to another address. It shares the connections of the first one.

    With ``moves``, the endpoint is asked for before each request: its server may have died since. Where it
    can't be started again, the request goes to the client's own API, without knowledge.

    Where the environment has a proxy for every host, the copy has connections of its own: a proxy
    would look for Ken on its own machine.
    """
    to = endpoint()
    options: dict[str, Any] = {"base_url": _base(api, to), "default_headers": to.headers}
    if is_loopback(to.url) and _proxied(to.url):
        package = importlib.import_module(api)
        connections = package.DefaultAsyncHttpxClient if type(client).__name__.startswith("Async") else package.DefaultHttpxClient
        options["http_client"] = connections(mounts={f"all://{urllib.parse.urlsplit(to.url).hostname}": None})
    copy = cast("Any", client).with_options(**options)
    own = str(cast("Any", client).base_url)
    return cast("Client", _follow(copy, api, own, endpoint, to, to) if moves else copy)


def _base(api: str, to: Endpoint) -> str:
    return to.base_url if api == "openai" else to.url


def _follow(client: Any, api: str, own: str, endpoint: Callable[[], Endpoint], was: Endpoint, here: Endpoint) -> Any:
    """Have a client, and copies of it, ask for the endpoint before each request: both packages have a method for that.

    ``own`` is the base URL of the client's API, ``was`` the endpoint that it was made with, ``here`` the last one.
    """
    prepare, copy = client._prepare_options, client.copy

    def move(options: Any) -> Any:
        nonlocal here
        if same_place(str(client.base_url), here.url):  # else the user has sent it elsewhere
            try:
                to = endpoint()  # which blocks only while another server starts
            except KenError as failed:
                log.warning("the model call goes on without Ken: %s", failed)
                omit = importlib.import_module(api + "._types").Omit()
                options.headers = {**(options.headers or {}), **{name: omit for name in was.headers}}
                options.url = own.rstrip("/") + "/" + options.url.lstrip("/")
                return options
            if to.url != here.url:
                client.base_url, here = _base(api, to), to
            if to.url != was.url and (key := to.headers.get("X-Ken-Key")):
                options.headers = {"X-Ken-Key": key, **(options.headers or {})}
        return options

    async def move_async(options: Any) -> Any:
        return await prepare(move(options))

    client._prepare_options = move_async if type(client).__name__.startswith("Async") else lambda options: prepare(move(options))
    client.copy = client.with_options = lambda *arguments, **named: _follow(copy(*arguments, **named), api, own, endpoint, was, here)
    return client


def _proxied(url: str) -> bool:
    proxies = urllib.request.getproxies_environment()
    host = urllib.parse.urlsplit(url).hostname or ""
    return bool(proxies.get("http") or proxies.get("all")) and not urllib.request.proxy_bypass(host)


def same_place(a: str, b: str) -> bool:
    """Whether two URLs lead to the same host and port."""
    return _place(a) == _place(b)


def _place(url: str) -> tuple[str, str, int | None]:
    u = urllib.parse.urlsplit(url)
    return u.scheme, (u.hostname or "").lower(), u.port or {"http": 80, "https": 443}.get(u.scheme)
