#!/usr/bin/env python3
# -*- coding: utf-8 -*-
"""The shop: carts and lines. More follows."""
from __future__ import annotations

import os.path, json as js
import numpy as np
from typing import (
    Protocol,
    overload,  # with a comment
)
from .pricing import Money, round_up as up
from . import store
from ..base import *

__all__ = ["Cart", "total", "Priced"]

T = 1; MAX: int = 10
first, (second, *rest) = 1, (2, 3)
_private = lambda x, y=MAX: x + y
if MAX > 3:
    FALLBACK = True
    def maybe(): return up(1)
else:
    FALLBACK = False
try:
    import fast
except ImportError as e:
    fast = None
type Vector[T] = list[T]


class Priced(Protocol):
    """What has a price.

    >>> total([])
    """

    price: Money

    def pay(self, amount: Money, /, *, now: bool = True) -> "Money": ...


@store.register(name="cart")
class Cart(Priced, store.Base[int], metaclass=Meta):
    '''A cart of "lines". It's small.'''
    limit = MAX
    lines: list[Line]
    match = None
    _cache: dict = {}

    def __init__(self, lines=None, *args, **kwargs):
        self.lines = lines or []
        self.total, self.extra = 0, 1
        self.name: str = f"cart {up(len(lines))!r:>{MAX}} {'quoted'} {{no use}} {js.dumps(self.lines)}"
        super().__init__(*args)

    @property
    def size(self) -> int:
        """The number of lines."""
        return len(self.lines)

    @overload
    def add(self, line: int) -> None: ...
    @overload
    def add(self, line: str) -> None: ...
    def add(self, line):
        # self.remove() in a comment
        total = [up(x) for x in line if x]
        self.lines.append(line); self.refresh()
        return total(self.lines)

    async def refresh(self):
        async with store.open(self) as s, s.lock:
            await s.save(np.array([1]))
        def inner(MAX):
            nonlocal s
            return MAX + FALLBACK
        return inner(1)

    class Meta:
        ordering = ["name"]

        def deep(self): return Cart.limit

    for _i in range(3):
        pass


class Line: x = 1


def total(lines: list[Cart], *, start: Money = Money(0)) -> Money:
    r"""Adds up. Raw \d."""
    global counter
    counter = 1
    match lines:
        case [Cart(limit=l), *others] if l:
            return l
        case {"a": v}:
            return v
    text = """
def not_a_function():
    pass
"""
    if (n := len(lines)) > 1: return sum(line.price for line in lines)
    with open(text) as fh: js.load(fh)
    return os.path.join(text, "\
class NoClass:")

match = total
match(first)
counter: int
