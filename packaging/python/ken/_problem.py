"""Ken's errors."""

from __future__ import annotations

import json
from typing import cast


class KenError(Exception):
    """A request that Ken refused, or that did not reach it.

    ``code`` is a word for programs: ``not_found``, ``invalid``, ``forbidden``,
    ``unauthorized``, ``refused``, ``unavailable``, and those of /api/problems. ``field`` names the
    parameter at fault, ``hint`` says what to do. Both are "" where there is nothing to say.
    ``status`` is the HTTP status; 0 when there was no answer.
    """

    def __init__(self, message: str, *, code: str, field: str = "", hint: str = "", status: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.field = field
        self.hint = hint
        self.status = status

    def __str__(self) -> str:
        text = f"{self.field}: {self.message}" if self.field else self.message
        return f"{text}. Try: {self.hint}" if self.hint else text

    def __reduce__(self) -> tuple[object, ...]:
        return _again, (self.message, self.code, self.field, self.hint, self.status)


def _again(message: str, code: str, field: str, hint: str, status: int) -> KenError:
    return KenError(message, code=code, field=field, hint=hint, status=status)


def of_answer(status: int, body: bytes, code: str | None) -> KenError:
    """Read an error answer: a problem document (RFC 9457), or the answer of a proxy."""
    said: dict[str, object] = {}
    try:
        read = json.loads(body)
        if isinstance(read, dict):
            said = cast("dict[str, object]", read)
    except ValueError:
        pass
    if "title" not in said:
        text = body.decode(errors="replace").strip()[:200] or "no reason was given"
        return KenError(f"the answer is {status}: {text}", code=code or "unavailable", status=status,
                        hint="Check that KEN_URL is the address of a ken serve.")
    return KenError(
        str(said.get("detail") or said["title"]).rstrip("."),
        code=code or str(said.get("code", "")) or "unavailable",
        field=str(said.get("field", "")), hint=str(said.get("try", "")), status=status)
