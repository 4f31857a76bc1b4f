"""Ken for Pydantic AI: a capability. It needs pydantic-ai-slim 2 or later."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability, WrapModelRequestHandler
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.tools import AgentDepsT

from ken import _adapt
from ken._client import Ken
from ken._model import Turn


@dataclass
class KenMemory(AbstractCapability[AgentDepsT]):
    """Gives each model request of an agent what Ken knows, whichever model it is.

        agent = Agent("…", capabilities=[KenMemory(k)])

    The session is the run's conversation, unless ``session`` names one. The blocks are in the requests
    alone, not in the message history.
    """

    ken: Ken
    session: str | None = None

    @classmethod
    def get_serialization_name(cls) -> str | None:
        """It has a connection, so no specification of an agent can name it."""
        return None

    async def wrap_model_request(self, ctx: RunContext[AgentDepsT], *, request_context: ModelRequestContext,
                                 handler: WrapModelRequestHandler) -> ModelResponse:
        """Insert the blocks, and note the answer."""
        messages, places = _flat(request_context.messages)
        session = self.session or ctx.conversation_id
        turn = await asyncio.to_thread(_adapt.prepare, self.ken, messages, session, request_context.model.model_name)
        if turn is not None:
            request_context = replace(request_context, messages=_insert(request_context.messages, places, turn))
        response = await handler(request_context)
        await asyncio.to_thread(_adapt.answered, self.ken, turn, _assistant(response))
        return response


def _flat(messages: Sequence[ModelMessage]) -> tuple[list[dict[str, Any]], list[tuple[int, int]]]:
    """The messages in the form of OpenAI's chat completions, and which part of which message each one is."""
    out: list[dict[str, Any]] = []
    places: list[tuple[int, int]] = []
    for i, message in enumerate(messages):
        if isinstance(message, ModelResponse):
            out.append(_assistant(message))
            places.append((i, 0))
            continue
        for j, part in enumerate(message.parts):
            if (chat := _chat(part)) is not None:
                out.append(chat)
                places.append((i, j))
    return out, places


def _chat(part: ModelRequestPart) -> dict[str, Any] | None:
    if isinstance(part, SystemPromptPart):
        return {"role": "system", "content": part.content}
    if isinstance(part, UserPromptPart):
        content = part.content
        return {"role": "user", "content": content if isinstance(content, str) else "\n".join(c for c in content if isinstance(c, str))}
    if isinstance(part, ToolReturnPart):
        return {"role": "tool", "tool_call_id": part.tool_call_id, "content": part.model_response_str()}
    return None


def _assistant(response: ModelResponse) -> dict[str, Any]:
    calls: list[dict[str, str]] = []
    for part in response.parts:
        if isinstance(part, ToolCallPart):
            arguments = part.args if isinstance(part.args, str) else json.dumps(part.args or {}, default=str)
            calls.append({"id": part.tool_call_id, "name": part.tool_name, "arguments": arguments})
    return _adapt.assistant("".join(p.content for p in response.parts if isinstance(p, TextPart)), calls)


def _insert(messages: Sequence[ModelMessage], places: Sequence[tuple[int, int]], turn: Turn) -> list[ModelMessage]:
    out = list(messages)
    for block in reversed(turn.insertions):
        i, j = places[block.before]
        message = out[i]
        if not isinstance(message, ModelRequest):
            continue
        parts, part = list(message.parts), message.parts[j]
        if block.merge and isinstance(part, UserPromptPart):
            content = part.content
            text = block.text + "\n\n"
            parts[j] = replace(part, content=text + content if isinstance(content, str) else [text, *content])
        else:
            parts.insert(j, UserPromptPart(block.text))
        out[i] = replace(message, parts=parts)
    return out
