"""Ken for LangChain: a retriever, a chat history and a middleware for agents.

The retriever and the history need langchain-core, the middleware needs langchain 1.0 or later.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, BaseMessage, ChatMessage, FunctionMessage, HumanMessage, SystemMessage, ToolCall, ToolMessage
from langchain_core.retrievers import BaseRetriever

from ken import _adapt
from ken._client import Ken
from ken._model import Turn

if TYPE_CHECKING:
    from langchain.agents.middleware import AgentMiddleware
    from langchain.agents.middleware.types import ModelRequest, ModelResponse
else:
    try:
        from langchain.agents.middleware import AgentMiddleware
    except ImportError:  # langchain-core alone

        class AgentMiddleware:
            def __class_getitem__(cls, _):
                return cls

            def __init__(self):
                raise ImportError("KenMiddleware needs langchain. Try: pip install langchain")


class KenRetriever(BaseRetriever):
    """Finds what Ken knows of a question, as documents.

    ``documents`` looks among the pieces of the repository, too.
    """

    ken: Ken
    limit: int = 5
    documents: bool = False

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        found = self.ken.recall(query, limit=self.limit, documents=self.documents)
        return [
            Document(page_content=c.text, id=c.id, metadata={
                "score": c.score, "kind": c.kind, "status": c.status, "tier": c.tier, "about": list(c.about), "rule": c.rule})
            for c in found]

    async def _aget_relevant_documents(self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun) -> list[Document]:
        return await asyncio.to_thread(self._get_relevant_documents, query, run_manager=run_manager.get_sync())


class KenChatMessageHistory(BaseChatMessageHistory):
    """The messages of one session, kept in Ken's journal.

    Ken learns from them when the session ends. The journal has neither system messages nor secrets
    nor pictures, and it is deleted some days after the session was harvested. Reading and clearing it
    needs the right ``operate`` on a Ken with keys.
    """

    def __init__(self, ken: Ken, session: str) -> None:
        self.session = ken.session(session)

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]
        """The conversation so far, oldest first."""
        return [m for said in self.session.messages() if (m := _from_journal(said)) is not None]

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Add messages at the end."""
        self.session.note([_chat(m) for m in [*self.messages, *messages]])

    def clear(self) -> None:
        """Delete the messages. What Ken has learned from them stays: see Ken.forget."""
        self.session.forget()


class KenMiddleware(AgentMiddleware[Any, Any, Any]):
    """Gives each model call of an agent what Ken knows, whichever model it is.

    The session is the thread of the agent (``configurable.thread_id``), unless ``session`` names one. A
    model whose calls go through Ken already needs no middleware.
    """

    def __init__(self, ken: Ken, *, session: str | None = None) -> None:
        super().__init__()
        self.ken = ken
        self.session = session

    def wrap_model_call(self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]) -> ModelResponse[Any]:
        """Insert the blocks, and note the answer."""
        turn = self._prepare(request, self.session or _thread())
        response = handler(_with_blocks(request, turn))
        self._answered(turn, response)
        return response

    async def awrap_model_call(self, request: ModelRequest[Any],
                               handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]) -> ModelResponse[Any]:
        """Insert the blocks, and note the answer."""
        turn = await asyncio.to_thread(self._prepare, request, self.session or _thread())
        response = await handler(_with_blocks(request, turn))
        await asyncio.to_thread(self._answered, turn, response)
        return response

    def _prepare(self, request: ModelRequest[Any], session: str | None) -> Turn | None:
        model = getattr(request.model, "model_name", None) or getattr(request.model, "model", None)
        return _adapt.prepare(self.ken, [_chat(m) for m in request.messages], session, model if isinstance(model, str) else None)

    def _answered(self, turn: Turn | None, response: ModelResponse[Any]) -> None:
        answer = next((m for m in reversed(response.result) if isinstance(m, AIMessage)), None)
        _adapt.answered(self.ken, turn, None if answer is None else _chat(answer))


def _thread() -> str | None:
    from langgraph.config import get_config

    try:
        thread = get_config().get("configurable", {}).get("thread_id")
    except RuntimeError:  # outside of a graph
        return None
    return None if thread is None else str(thread)


def _with_blocks(request: ModelRequest[Any], turn: Turn | None) -> ModelRequest[Any]:
    if turn is None or not turn.insertions:
        return request
    messages: list[Any] = turn.insert(request.messages, lambda text: HumanMessage(text), _merge)
    return request.override(messages=messages)


def _merge(message: Any, text: str) -> Any:
    content = message.content
    return message.model_copy(update={"content": text + content if isinstance(content, str) else [{"type": "text", "text": text}, *content]})


def _chat(message: BaseMessage) -> dict[str, Any]:
    """A message in the form of OpenAI's chat completions, as far as Ken reads it."""
    text = str(message.text)
    if isinstance(message, AIMessage):
        return _adapt.assistant(text, [{"id": c["id"] or "", "name": c["name"], "arguments": json.dumps(c["args"], default=str)} for c in message.tool_calls])
    if isinstance(message, ToolMessage):
        return {"role": "tool", "content": text, "tool_call_id": message.tool_call_id}
    if isinstance(message, FunctionMessage):
        return {"role": "tool", "content": text, "name": message.name}
    return {"role": _role(message), "content": text}


def _role(message: BaseMessage) -> str:
    if isinstance(message, HumanMessage):
        return "user"
    if isinstance(message, SystemMessage):
        return "system"
    if isinstance(message, ChatMessage) and message.role in ("user", "system", "developer", "tool"):
        return message.role
    return "assistant"  # the author is unknown, so it is not the user


def _from_journal(said: Mapping[str, Any]) -> BaseMessage | None:
    text = said.get("text", "")
    if said["role"] == "user":
        return HumanMessage(text)
    if said["role"] == "tool":
        return ToolMessage(text, tool_call_id=said.get("tool_call_id", ""))
    if said["role"] != "assistant":
        return None
    calls: list[ToolCall] = []
    for call in said.get("tool_calls") or ():
        arguments: dict[str, Any] = {}
        try:
            arguments.update(json.loads(call["arguments"] or "{}"))
        except (ValueError, TypeError):  # the model wrote something else than an object
            pass
        calls.append(ToolCall(id=call["id"], name=call["name"], args=arguments, type="tool_call"))
    return AIMessage(text, tool_calls=calls)
