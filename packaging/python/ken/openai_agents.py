"""Ken for the OpenAI Agents SDK. It needs openai-agents."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextvars import ContextVar
from typing import Any, cast

from agents import Agent, ModelResponse, RunContextWrapper, RunHooks, TResponseInputItem
from agents.run import CallModelData, ModelInputData

from ken import _adapt
from ken._client import Ken
from ken._model import Turn


class KenMemory(RunHooks[Any]):
    """Gives each model call of a run what Ken knows, whichever model it is.

    Pass it to the run twice: as its hooks, and as the filter of the model's input.

        memory = KenMemory(k, session="visit-17")
        Runner.run_sync(agent, "…", hooks=memory, run_config=RunConfig(call_model_input_filter=memory))

    Without ``session``, Ken tells conversations apart by their beginning. A client that was wrapped needs
    no KenMemory. With ``conversation_id`` or ``previous_response_id`` the SDK sends only what is new, so wrap the
    client there.
    """

    def __init__(self, ken: Ken, *, session: str | None = None) -> None:
        self.ken = ken
        self.session = session
        self._turn: ContextVar[Turn | None] = ContextVar("ken_turn", default=None)

    async def __call__(self, data: CallModelData[Any]) -> ModelInputData:
        """Insert the blocks into the input."""
        items = data.model_data.input
        turn = await asyncio.to_thread(_adapt.prepare, self.ken, [_chat(i) for i in items], self.session)
        self._turn.set(turn)
        if turn is not None:
            items = turn.insert(items, lambda text: {"role": "user", "content": text}, _merge)
        return ModelInputData(input=items, instructions=data.model_data.instructions)

    async def on_llm_end(self, context: RunContextWrapper[Any], agent: Agent[Any], response: ModelResponse) -> None:
        """Note the answer."""
        text = ""
        calls: list[dict[str, str]] = []
        for item in response.output:
            if item.type == "message":
                text += _text(c.model_dump() for c in item.content)
            elif item.type == "function_call":
                calls.append({"id": item.call_id, "name": item.name, "arguments": item.arguments})
        await asyncio.to_thread(_adapt.answered, self.ken, self._turn.get(), _adapt.assistant(text, calls))


def _chat(item: Any) -> dict[str, Any]:
    """An item in the form of OpenAI's chat completions, as far as Ken reads it."""
    kind = item.get("type", "message")
    if kind == "message":
        content = item.get("content")
        return {"role": item.get("role", "user"), "content": content if isinstance(content, str) else _text(content or ())}
    if kind == "function_call":
        return _adapt.assistant("", [{"id": item.get("call_id", ""), "name": item.get("name", ""), "arguments": item.get("arguments", "")}])
    if kind == "function_call_output":
        output = item.get("output")
        return {"role": "tool", "tool_call_id": item.get("call_id", ""), "content": output if isinstance(output, str) else _text(output or ())}
    return _adapt.assistant("")  # reasoning, and the provider's own tools


def _text(parts: Iterable[Any]) -> str:
    return "\n".join(p["text"] for p in parts if isinstance(p.get("text"), str))


def _merge(item: Any, text: str) -> TResponseInputItem:
    content = item.get("content")
    merged: Any = {**item, "content": text + content if isinstance(content, str) else [{"type": "input_text", "text": text}, *content]}
    return cast("TResponseInputItem", merged)
