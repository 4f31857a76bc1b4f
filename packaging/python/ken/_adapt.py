"""What the modules for frameworks share."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from ken._client import Ken
from ken._model import Turn
from ken._problem import KenError

log = logging.getLogger("ken")

PATIENCE = 5.0  # seconds; a model call waits no longer for Ken


def prepare(ken: Ken, messages: Sequence[Mapping[str, Any]], session: str | None, model: str | None = None) -> Turn | None:
    """Return the blocks of a turn. A turn never fails because of Ken: the log says what went wrong."""
    if not messages:
        return None
    try:
        return ken._prepare(messages, session, model, timeout=PATIENCE)
    except KenError as failed:
        log.warning("the turn goes on without knowledge: %s", failed)
        return None


def answered(ken: Ken, turn: Turn | str | None, message: Mapping[str, Any] | None) -> None:
    """Pass Ken the answer of a turn, if there is one."""
    if turn is None or message is None:
        return
    try:
        ken._answered(turn, message, timeout=PATIENCE)
    except KenError as failed:
        log.warning("an answer is not noted: %s", failed)


def assistant(text: str, calls: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """Return a message of the model. A call has an id, a name and arguments as JSON."""
    out: dict[str, Any] = {"role": "assistant", "content": text}
    if calls:
        out["tool_calls"] = [
            {"id": c["id"], "type": "function", "function": {"name": c["name"], "arguments": c["arguments"]}} for c in calls]
    return out
