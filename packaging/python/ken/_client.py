"""Ken for programs that wait for answers."""

from __future__ import annotations

import os
import re
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, TypeVar

from ken import _model, _server, _wrap
from ken._http import TIMEOUT, Connection, address, filled, part, plain
from ken._model import Claim, Endpoint, Turn
from ken._problem import KenError

Client = TypeVar("Client")

OPENAI = "https://api.openai.com/v1"
HARVEST_PATIENCE = 60.0  # seconds
_OWNER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+|:=~-]*")  # as ken serve reads it, without what httpx can't send


class Ken:
    """What Ken knows in one project folder.

    With ``url``, or the environment variable KEN_URL, it uses the ``ken serve`` at that address.
    Otherwise it starts one for the folder ``project`` (default: the current one). Programs of the
    same folder share it, and it ends some seconds after the last of them.

    ``key`` is a key of Ken (default: KEN_KEY). It goes to Ken alone. ``owner`` is whose knowledge it
    is, on a Ken without keys; a key has its owner already. ``agent`` is the name of this program in
    sessions and receipts.

    An object may be used by several threads. ``close`` lets go of a server that was started; the end
    of the process does, too. Every method raises KenError.
    """

    def __init__(self, url: str | None = None, *, project: str | os.PathLike[str] | None = None, key: str | None = None,
                 owner: str | None = None, agent: str | None = None) -> None:
        url = url or os.environ.get("KEN_URL")
        key = os.environ.get("KEN_KEY") or None if key is None else key
        if url and project is not None:
            raise KenError("a Ken at an address has its folder already", code="invalid", field="project",
                           hint="Leave out project, or the address: the argument url and KEN_URL.")
        self._headers: dict[str, str] = {}
        # An empty owner or key is a mistake of the program. It must not lead to the knowledge of the default owner.
        for name, field, value in (("X-Ken-Key", "key", key), ("X-Ken-Owner", "owner", owner)):
            if value is not None:
                self._headers[name] = plain(field, value)
        if owner is not None and not _OWNER.fullmatch(owner):
            raise KenError("not a name of an owner", code="invalid", field="owner",
                           hint="Use letters, digits and . _ @ + - | : = ~, with a letter or digit first.")
        self._agent = agent
        self._project = os.path.abspath(project or os.getcwd())
        self._lock = threading.Lock()  # guards _server
        self._server: _server.Server | None = None
        self._starts = not url
        self._http = Connection(address(url) if url else self._hold(), self._headers, self._check)

    def _check(self) -> None:
        """Take another server if the one that was started has ended or was released: any program may now listen at its address."""
        with self._lock:
            if self._starts and (self._server is None or not _server.alive(self._server)):
                self._http.url = self._hold()

    def _hold(self) -> str:
        """Find or start a server. It makes a key, unless it has keys already."""
        self._server = _server.acquire(self._project)
        if self._server.key:
            self._headers["X-Ken-Key"] = self._server.key
        return self._server.url

    @property
    def url(self) -> str:
        """Ken's address."""
        return self._http.address()

    @property
    def console(self) -> str:
        """A link to the console, for a browser. Keep it to yourself: for a Ken that was started, it has the key."""
        url = self.url
        server = self._server
        return f"{url}/console/login?key={server.key}" if server and server.key else f"{url}/console/"

    def close(self) -> None:
        """Release a server that was started. Wrapped clients go on without Ken; another method starts it again."""
        with self._lock:
            server, self._server = self._server, None
        if server is not None:
            _server.release(server)

    def __enter__(self) -> Ken:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def remember(self, text: str, *, about: str | Sequence[str] = (), rule: bool | None = None, source: str = "", key: str = "",
                 session: str = "") -> Claim:
        """Keep a statement.

        ``about`` names what it is about, the main thing first; left out, Ken reads the text. ``rule``
        true makes it a rule: it is in every turn about its thing. False makes it none, whatever its
        words are. ``source`` says where it came from. ``key`` is a name of yours: the same key again
        replaces the statement. It rests on the word of who calls: a person's, or an agent's where a key
        lacks the right ``operate``.
        """
        body: dict[str, Any] = {"text": text}
        if about:
            body["about"] = [about] if isinstance(about, str) else list(about)
        if rule is not None:
            body["rule"] = rule
        for name, value in (("source", source), ("key", key), ("session_id", session)):
            if value:
                body[name] = value
        return _model.claim(self._http.send("POST", "/api/claims", body, has="id"))

    def recall(self, question: str, *, limit: int = 5, documents: bool = False) -> list[Claim]:
        """Find the claims that are relevant to a question, best first.

        ``documents`` looks among the pieces of the repository, too. Of a question with more than 8192
        bytes, the beginning and the end count.
        """
        query = {"q": _asked(question), "limit": str(limit), "type": "all" if documents else "knowledge"}
        return [_model.claim(found) for found in self._http.send("GET", "/api/search", query=query, has="results")["results"] or ()]

    def forget(self, claim: str | Claim, *, reason: str = "") -> list[str]:
        """Erase a claim, and everything that was derived from it. It can't be undone.

        It returns the ids of what was erased. ``reason`` stays, so it should not repeat the text.
        """
        name = claim.id if isinstance(claim, Claim) else claim
        return list(self._http.send("DELETE", "/api/claims/" + part("claim", name), query={"reason": reason} if reason else None,
                                    has="forgotten")["forgotten"] or ())

    def wrap(self, client: Client, *, session: str | None = None) -> Client:
        """Return a copy of a model client whose calls go through Ken.

        The client is OpenAI, AsyncOpenAI, Anthropic or AsyncAnthropic. The copy keeps its key, its
        retries, its timeouts and its connections; the first client stays as it is. Its calls go on to
        the API that the client was made for. A Ken in front of another API refuses them with 421.

        ``session`` names the conversation. Left out, Ken tells conversations apart by their beginning.
        """
        api = _wrap.api_of(client)
        upstream = _wrap.upstream_of(client, api)
        moves = self._starts and not _wrap.same_place(upstream, self.url)

        def endpoint() -> Endpoint:
            if moves and self._server is None:
                raise KenError("this Ken is closed", code="unavailable", hint="Call close after the last model call.")
            return self.endpoint(upstream, session=session)

        return _wrap.wrap(client, api, endpoint, moves)

    def endpoint(self, upstream: str | None = None, *, session: str | None = None) -> Endpoint:
        """Return where to send the model calls of a client that can't be wrapped.

        ``upstream`` is the API's base URL, with its version. Left out, it is OPENAI_BASE_URL, else
        OpenAI's own API; on a Ken at an address it is what that one is configured with.
        """
        if upstream is None and self._starts:
            upstream = os.environ.get("OPENAI_BASE_URL") or OPENAI
        url = self.url  # a server that is started now has another key
        headers = self._turn_headers(session)
        if upstream and not _wrap.same_place(upstream, url):  # else the client is in front of Ken already
            headers["X-Ken-Upstream"] = upstream.rstrip("/")
        return Endpoint(url, url + "/v1", headers)

    def session(self, name: str | None = None) -> Session:
        """Return a conversation. As a context manager it ends with the block, and Ken learns from it.

        Without a name it gets one that nobody else has.
        """
        return Session(self, self._http, plain("session", name) if name else "py-" + uuid.uuid4().hex, self._agent)

    def prepare(self, messages: Sequence[Mapping[str, Any]], *, session: str | None = None, model: str | None = None) -> Turn:
        """Return the blocks of a model call that does not go through Ken.

        The messages are those of OpenAI's chat completions, the whole conversation each time and
        without blocks. ``Turn.insert`` puts the blocks in. Tell the answer to ``answered``.
        """
        return self._prepare(messages, session, model)

    def _prepare(self, messages: Sequence[Mapping[str, Any]], session: str | None, model: str | None, timeout: float = TIMEOUT) -> Turn:
        body: dict[str, Any] = {"messages": list(messages)}
        for name, value in (("session_id", session), ("model", model), ("agent", self._agent)):
            if value:
                body[name] = value
        return _model.turn(self._http.send("POST", "/api/turns", body, timeout=timeout, has="insertions"))

    def answered(self, turn: Turn | str, message: Mapping[str, Any]) -> None:
        """Pass Ken the model's answer to a prepared turn: a message of the role assistant.

        An answer that comes back in the conversation's next turn is known already, so this matters for
        the last one. A turn that is answered already is no error.
        """
        self._answered(turn, message)

    def _answered(self, turn: Turn | str, message: Mapping[str, Any], timeout: float = TIMEOUT) -> None:
        name = turn.id if isinstance(turn, Turn) else turn
        try:
            self._http.send("POST", f"/api/turns/{part('turn', name)}/answer", {"message": dict(message)}, timeout=timeout)
        except KenError as refused:
            if refused.code != "not_found":
                raise

    def _turn_headers(self, session: str | None) -> dict[str, str]:
        headers = dict(self._headers)
        for name, field, value in (("X-Ken-Session", "session", session), ("X-Ken-Agent", "agent", self._agent)):
            if value:
                headers[name] = plain(field, value)
        return headers


class Session:
    """One conversation, by its name. Ken.session makes it."""

    def __init__(self, ken: Ken, http: Connection, name: str, agent: str | None) -> None:
        self._ken = ken
        self._http = http
        self._agent = agent
        self.name = name

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            self.end()
        except KenError:
            if error is None:
                raise

    def wrap(self, client: Client) -> Client:
        """Return a copy of a model client whose calls belong to this conversation: see Ken.wrap."""
        return self._ken.wrap(client, session=self.name)

    def endpoint(self, upstream: str | None = None) -> Endpoint:
        """Return where to send the model calls of this conversation: see Ken.endpoint."""
        return self._ken.endpoint(upstream, session=self.name)

    def prepare(self, messages: Sequence[Mapping[str, Any]], *, model: str | None = None) -> Turn:
        """Return the blocks of a model call of this conversation: see Ken.prepare."""
        return self._ken.prepare(messages, session=self.name, model=model)

    def answered(self, turn: Turn | str, message: Mapping[str, Any]) -> None:
        """Pass Ken the model's answer to a prepared turn: see Ken.answered."""
        self._ken.answered(turn, message)

    def remember(self, text: str, *, about: str | Sequence[str] = (), rule: bool | None = None) -> Claim:
        """Keep a statement that belongs to this conversation: see Ken.remember."""
        return self._ken.remember(text, about=about, rule=rule, session=self.name)

    def messages(self) -> list[Mapping[str, Any]]:
        """Return the messages, oldest first, as Ken's journal has them: without system messages and secrets.

        Messages have ``role``, ``text``, and where they call or answer a tool ``tool_calls`` and ``tool_call_id``. They
        are deleted some days after the conversation was harvested. On a Ken with keys, this needs the
        right ``operate``.
        """
        out: list[Mapping[str, Any]] = []
        query = {"limit": "500"}
        while True:
            try:
                page = self._http.send("GET", f"/api/sessions/{part('session', self.name)}/messages", query=query, has="messages")
            except KenError as refused:
                if refused.code == "not_found":
                    return out
                raise
            out += page["messages"] or ()
            if not page.get("next"):
                return out
            query["cursor"] = page["next"]

    def note(self, messages: Sequence[Mapping[str, Any]]) -> None:
        """Write a conversation into Ken's journal, and look nothing up.

        The messages are those of OpenAI's chat completions, the whole conversation each time. What the
        journal has already is not written again.
        """
        body: dict[str, Any] = {"messages": list(messages), "session_id": self.name, "weight": "none"}
        if self._agent:
            body["agent"] = self._agent
        self._http.send("POST", "/api/turns", body)

    def forget(self) -> None:
        """Delete the messages. Claims that Ken learned from them stay: see Ken.forget."""
        try:
            self._http.send("DELETE", "/api/sessions/" + part("session", self.name))
        except KenError as refused:
            if refused.code != "not_found":
                raise

    def end(self) -> None:
        """End the conversation. Ken then learns from it in the background. A conversation without messages is no error."""
        try:
            self._http.send("POST", f"/api/sessions/{part('session', self.name)}/end")
        except KenError as refused:
            if refused.code != "not_found":
                raise

    def learned(self) -> list[Claim]:
        """End the conversation, wait until Ken has learned from it, and return the outcome."""
        self.end()
        until, pause = time.monotonic() + HARVEST_PATIENCE, 0.01
        while (view := self._view()) is not None:
            if view["state"] in ("harvested", "failed"):
                return [_model.claim(c) for c in view["claims"] or ()]
            if time.monotonic() > until:
                raise KenError(f"the session {self.name} is not harvested yet", code="unavailable",
                               hint="Ask again later; ken jobs shows what waits.")
            time.sleep(pause)
            pause = min(2 * pause, 0.5)
        return []

    def _view(self) -> Mapping[str, Any] | None:
        try:
            view: Mapping[str, Any] = self._http.send("GET", "/api/sessions/" + part("session", self.name), has="state")
            return view
        except KenError as refused:
            if refused.code == "not_found":
                return None
            raise


def _asked(question: str) -> str:
    """Return a question as Ken takes it, in at most 8192 bytes: of a long one the beginning and the end."""
    text = filled("question", question).encode(errors="replace")
    return question if len(text) <= 8192 else text[:5000].decode(errors="ignore") + "\n" + text[-3000:].decode(errors="ignore")
