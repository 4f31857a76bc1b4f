"""Ken for LiteLLM: a callback. It needs litellm."""

from __future__ import annotations

import asyncio
from typing import Any

from litellm.integrations.custom_logger import CustomLogger
from litellm.types.utils import CallTypes

from ken import _adapt
from ken._client import Ken

_TURN = "ken_turn"  # in the metadata of a call


class KenLogger(CustomLogger):
    """Gives each ``acompletion`` what Ken knows: those of the SDK, of the Router and of the proxy.

        litellm.callbacks = [KenLogger(k)]

    The session is ``metadata.session_id`` or ``litellm_session_id`` of the call, else ``session``, else Ken
    tells conversations apart by their beginning. LiteLLM asks no callback before a ``completion`` that is not
    async: send that to ``Ken.endpoint``.
    """

    def __init__(self, ken: Ken, *, session: str | None = None) -> None:
        super().__init__()
        self.ken = ken
        self.session = session

    async def async_pre_call_deployment_hook(self, kwargs: dict[str, Any], call_type: CallTypes | None) -> dict[str, Any] | None:
        """Insert the blocks before the call."""
        messages = kwargs.get("messages")
        if call_type is not CallTypes.acompletion or not messages:
            return None
        metadata = kwargs.get("metadata") or {}
        session = metadata.get("session_id") or kwargs.get("litellm_session_id") or self.session
        turn = await asyncio.to_thread(_adapt.prepare, self.ken, [_text(_plain(m)) for m in messages], session, kwargs.get("model"))
        if turn is None:
            return None
        return {**kwargs, "messages": turn.insert(messages, lambda text: {"role": "user", "content": text}, _merge),
                "metadata": {**metadata, _TURN: turn.id}}

    async def async_log_success_event(self, kwargs: dict[str, Any], response_obj: Any, start_time: Any, end_time: Any) -> None:
        """Note the answer: of a stream, once it has ended."""
        turn = ((kwargs.get("litellm_params") or {}).get("metadata") or {}).get(_TURN)
        response = kwargs.get("async_complete_streaming_response") or kwargs.get("complete_streaming_response") or response_obj
        if not turn or not getattr(response, "choices", None) or not hasattr(response.choices[0], "message"):
            return
        message = _plain(response.choices[0].message)
        answer = {"role": "assistant", "content": message.get("content") or "", **(
            {"tool_calls": message["tool_calls"]} if message.get("tool_calls") else {})}
        try:
            await asyncio.to_thread(_adapt.answered, self.ken, turn, answer)
        except RuntimeError:  # The interpreter ends, and has no threads left. LiteLLM calls back once more then.
            _adapt.answered(self.ken, turn, answer)


def _plain(message: Any) -> dict[str, Any]:
    """A message as JSON has it: LiteLLM takes its own objects back as well."""
    plain: dict[str, Any] = message.model_dump(exclude_none=True) if hasattr(message, "model_dump") else dict(message)
    return plain


def _text(message: dict[str, Any]) -> dict[str, Any]:
    """A message without pictures, sound and files, which Ken does not read."""
    content = message.get("content")
    if not isinstance(content, list):
        return message
    return {**message, "content": [p for p in content if isinstance(p, dict) and p.get("type") == "text"]}


def _merge(message: Any, text: str) -> Any:
    content = message["content"]
    return {**_plain(message), "content": text + content if isinstance(content, str) else [{"type": "text", "text": text}, *content]}
