"""The types of Ken's answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

Message = TypeVar("Message")


@dataclass(frozen=True)
class Claim:
    """A fact that Ken keeps, with its evidence."""

    id: str
    text: str
    status: str
    """observed, inferred, verified, hypothesis, disputed or superseded."""
    tier: str
    """Verified, Inferred, Assumed or Guessed: how strong the evidence is."""
    kind: str
    about: tuple[str, ...]
    """The entities that it is about, the main one first."""
    rule: bool
    """A rule is in every turn about its entity."""
    score: float | None
    """How well it fits the question. None if it was not found by a question."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All its fields: see docs/openapi.json."""


def claim(raw: Mapping[str, Any]) -> Claim:
    """Read a claim of the API."""
    return Claim(
        id=str(raw.get("id") or raw.get("key") or ""), text=str(raw.get("text", "")), status=str(raw.get("status", "")),
        tier=str(raw.get("tier", "")), kind=str(raw.get("kind", "")), about=tuple(raw.get("entities") or ()),
        rule=bool(raw.get("constraint", False)), score=raw.get("score"), raw=raw)


@dataclass(frozen=True)
class Endpoint:
    """Where a client sends its model calls so that they go through Ken."""

    url: str
    """Ken's address: the base URL of Anthropic's clients."""
    base_url: str
    """The same with /v1: the base URL of OpenAI's clients."""
    headers: dict[str, str]
    """The headers that each request needs. They may include a key of Ken."""


@dataclass(frozen=True)
class Insertion:
    """A block, and its place in a conversation."""

    before: int
    """An index into the messages as they were sent."""
    text: str
    merge: bool
    """Put it at the beginning of that message. Otherwise it is a separate user message."""


@dataclass(frozen=True)
class Turn:
    """What Ken adds to one model call."""

    id: str
    session: str
    mode: str
    """How retrieval ran: hybrid, keyword, late or none."""
    insertions: tuple[Insertion, ...]

    def insert(self, messages: Sequence[Message], user: Callable[[str], Message],
               merge: Callable[[Message, str], Message]) -> list[Message]:
        """Return the messages with the blocks in their places.

        ``user`` makes a user message of a text; ``merge`` returns a message with a text at its
        beginning. The messages themselves stay as they are.
        """
        out = list(messages)
        for block in reversed(self.insertions):
            if block.merge:
                out[block.before] = merge(out[block.before], block.text + "\n\n")
            else:
                out.insert(block.before, user(block.text))
        return out


def turn(raw: Mapping[str, Any]) -> Turn:
    """Read a prepared turn of the API."""
    return Turn(
        id=str(raw["turn"]), session=str(raw.get("session_id", "")), mode=str(raw["mode"]),
        insertions=tuple(Insertion(int(i["before"]), str(i["text"]), bool(i.get("merge", False))) for i in raw["insertions"]))
