"""Model clients whose calls go through Ken."""

from __future__ import annotations

import importlib
import urllib.parse
import urllib.request
from typing import Any, TypeVar, cast

from ken._http import is_loopback
from ken._model import Endpoint
from ken._problem import KenError

Client = TypeVar("Client")

# Clients that sign requests or write other paths than OpenAI's and Anthropic's own APIs have.
_OTHERS = ("Azure", "Bedrock", "Vertex", "Foundry")


def api_of(client: object) -> str:
    """Return the API that a client speaks: "openai" or "anthropic"."""
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


def wrap(client: Client, api: str, to: Endpoint) -> Client:
    """Return a copy of a client that sends to another address. It shares the connections of the first one.

    Where the environment has a proxy for every host, the copy has connections of its own: a proxy
    would look for Ken on its own machine.
    """
    options: dict[str, Any] = {"base_url": to.base_url if api == "openai" else to.url, "default_headers": to.headers}
    if is_loopback(to.url) and _proxied(to.url):
        package = importlib.import_module(api)
        connections = package.DefaultAsyncHttpxClient if type(client).__name__.startswith("Async") else package.DefaultHttpxClient
        options["http_client"] = connections(mounts={f"all://{urllib.parse.urlsplit(to.url).hostname}": None})
    return cast("Client", cast("Any", client).with_options(**options))


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
