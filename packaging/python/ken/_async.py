"""Ken for programs with an event loop.

Requests run in threads (asyncio.to_thread): the standard library has no HTTP client for an event
loop, and a request to Ken takes some milliseconds.
"""

from __future__ import annotations

import asyncio
import os
import threading
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, TypeVar

from ken._client import Ken, Session
from ken._http import plain
from ken._model import Claim, Endpoint, Turn

Client = TypeVar("Client")


class AsyncKen:
    """Ken for an event loop, with the arguments and the methods of Ken.

    ``async with AsyncKen() as k`` starts Ken without blocking the loop; otherwise the first method
    that needs it does. ``wrap`` and ``endpoint`` are no coroutines; outside of ``async with`` the first
    of them waits until Ken has started.
    """

    def __init__(self, url: str | None = None, *, project: str | os.PathLike[str] | None = None, key: str | None = None,
                 owner: str | None = None, agent: str | None = None) -> None:
        self._arguments: dict[str, Any] = {"url": url, "project": project, "key": key, "owner": owner, "agent": agent}
        self._lock = threading.Lock()  # guards _ken, also while it starts
        self._ken: Ken | None = None

    def _now(self) -> Ken:
        with self._lock:
            if self._ken is None:
                self._ken = Ken(**self._arguments)
            return self._ken

    async def _started(self) -> Ken:
        if self._ken is not None:
            return self._ken
        return await asyncio.to_thread(self._now)

    @property
    def url(self) -> str:
        """Ken's address: see Ken.url."""
        return self._now().url

    @property
    def console(self) -> str:
        """A link to the console: see Ken.console."""
        return self._now().console

    async def close(self) -> None:
        """Release a server that was started: see Ken.close."""
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        with self._lock:
            ken, self._ken = self._ken, None
        if ken is not None:
            ken.close()

    async def __aenter__(self) -> AsyncKen:
        await self._started()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    async def remember(self, text: str, *, about: str | Sequence[str] = (), rule: bool | None = None, source: str = "", key: str = "",
                       session: str = "") -> Claim:
        """Keep a statement: see Ken.remember."""
        ken = await self._started()
        return await asyncio.to_thread(ken.remember, text, about=about, rule=rule, source=source, key=key, session=session)

    async def recall(self, question: str, *, limit: int = 5, documents: bool = False) -> list[Claim]:
        """Find the claims that are relevant to a question: see Ken.recall."""
        return await asyncio.to_thread((await self._started()).recall, question, limit=limit, documents=documents)

    async def forget(self, claim: str | Claim, *, reason: str = "") -> list[str]:
        """Erase a claim: see Ken.forget."""
        return await asyncio.to_thread((await self._started()).forget, claim, reason=reason)

    def wrap(self, client: Client, *, session: str | None = None) -> Client:
        """Return a copy of a model client whose calls go through Ken: see Ken.wrap."""
        return self._now().wrap(client, session=session)

    def endpoint(self, upstream: str | None = None, *, session: str | None = None) -> Endpoint:
        """Return where to send model calls: see Ken.endpoint."""
        return self._now().endpoint(upstream, session=session)

    def session(self, name: str | None = None) -> AsyncSession:
        """Return a conversation, for ``async with``: see Ken.session."""
        return AsyncSession(self, self._started, plain("session", name) if name else "py-" + uuid.uuid4().hex)

    async def prepare(self, messages: Sequence[Mapping[str, Any]], *, session: str | None = None, model: str | None = None) -> Turn:
        """Return the blocks of a model call that does not go through Ken: see Ken.prepare."""
        return await asyncio.to_thread((await self._started()).prepare, messages, session=session, model=model)

    async def answered(self, turn: Turn | str, message: Mapping[str, Any]) -> None:
        """Pass Ken the model's answer to a prepared turn: see Ken.answered."""
        await asyncio.to_thread((await self._started()).answered, turn, message)


class AsyncSession:
    """One conversation, by its name. AsyncKen.session makes it."""

    def __init__(self, ken: AsyncKen, started: Callable[[], Awaitable[Ken]], name: str) -> None:
        self._ken = ken
        self._started = started
        self.name = name

    async def _session(self) -> Session:
        return (await self._started()).session(self.name)

    async def __aenter__(self) -> AsyncSession:
        await self._started()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        session = await self._session()
        await asyncio.to_thread(session.__exit__, kind, error, trace)

    def wrap(self, client: Client) -> Client:
        """Return a copy of a model client whose calls belong to this conversation: see Ken.wrap."""
        return self._ken.wrap(client, session=self.name)

    def endpoint(self, upstream: str | None = None) -> Endpoint:
        """Return where to send the model calls of this conversation: see Ken.endpoint."""
        return self._ken.endpoint(upstream, session=self.name)

    async def prepare(self, messages: Sequence[Mapping[str, Any]], *, model: str | None = None) -> Turn:
        """Return the blocks of a model call of this conversation: see Ken.prepare."""
        return await self._ken.prepare(messages, session=self.name, model=model)

    async def answered(self, turn: Turn | str, message: Mapping[str, Any]) -> None:
        """Pass Ken the model's answer to a prepared turn: see Ken.answered."""
        await self._ken.answered(turn, message)

    async def remember(self, text: str, *, about: str | Sequence[str] = (), rule: bool | None = None) -> Claim:
        """Keep a statement that belongs to this conversation: see Ken.remember."""
        return await self._ken.remember(text, about=about, rule=rule, session=self.name)

    async def messages(self) -> list[Mapping[str, Any]]:
        """Return the messages: see Session.messages."""
        return await asyncio.to_thread((await self._session()).messages)

    async def note(self, messages: Sequence[Mapping[str, Any]]) -> None:
        """Write a conversation into Ken's journal: see Session.note."""
        await asyncio.to_thread((await self._session()).note, messages)

    async def forget(self) -> None:
        """Delete the messages: see Session.forget."""
        await asyncio.to_thread((await self._session()).forget)

    async def end(self) -> None:
        """End the conversation: see Session.end."""
        await asyncio.to_thread((await self._session()).end)

    async def learned(self) -> list[Claim]:
        """End the conversation and return the outcome: see Session.learned."""
        return await asyncio.to_thread((await self._session()).learned)
