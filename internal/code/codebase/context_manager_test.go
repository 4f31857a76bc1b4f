package codebase_test

import (
	"strings"
	"testing"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

// TestDeclaredTypesOfPython checks that a declared result type comes before what the body returns, and what the value of
// a "with" statement is. Two classes have each method, and
// the file that uses them mentions too many for a guess.
func TestDeclaredTypesOfPython(t *testing.T) {
	const lib = `from contextlib import AbstractAsyncContextManager, AbstractContextManager, contextmanager
from typing import AsyncContextManager, Iterator
from typing import TypeVar
from elsewhere import Foreign, other
T = TypeVar("T")

class Room:
    def heat(self): ...
class Hall:
    def heat(self): ...
class Key:
    def __enter__(self): return self
    def turn(self): ...
class Lock:
    def __enter__(self):
        return self._room
    def __init__(self, other):
        self._room = Room()
    def turn(self): ...
class Door:
    async def __aenter__(self) -> Hall:
        self.lock()
        return self._x
    def heat(self): ...
class Gate(Foreign):
    def heat(self): ...
class Tent:
    def __enter__(self):
        return self._unknown
    def heat(self): ...
class Child(Lock): ...
class Shed:
    def __enter__(self: T) -> T: ...
    def heat(self): ...
class Barn:
    def __enter__(self):
        return other(self)
    def heat(self): ...
class Yurt(Foreign):
    def __enter__(self):
        return super().__enter__()
    def heat(self): ...

def declared() -> AbstractAsyncContextManager[Room]:
    return Door()
def quoted() -> "Hall":
    return Room()
def typing_form() -> AsyncContextManager[Hall]: ...
def foreign() -> Foreign:
    return Room()
def undeclared():
    return Room()
@contextmanager
def generated() -> Iterator[Room]:
    yield Hall()
@contextmanager
def yielded():
    yield Hall()
`
	const use = `from lib import Door, Gate, Hall, Key, Lock, Room, Tent, Child, Shed, Barn, Yurt
from lib import declared, quoted, typing_form, foreign, undeclared, generated, yielded

def mentioned():
    return Room, Hall, Key, Lock, Door, Gate
async def a():
    async with declared() as x: x.heat()
def b():
    quoted().heat()
async def c():
    async with typing_form() as x:
        x.heat()
def d():
    foreign().heat()
def e():
    undeclared().heat()
def f():
    with generated() as x, open("f") as y:
        x.heat()
def g():
    with yielded() as x:
        x.heat()
def h():
    with Key() as k:
        k.turn()
def i():
    with Lock(1) as k:
        k.heat()
def j():
    with Lock(1) as k:
        k.turn()
async def k():
    async with Door() as x:
        x.heat()
def l():
    with Gate() as x:
        x.heat()
def m():
    with Tent() as x:
        x.heat()
def n():
    with Child(1) as x:
        x.heat()
def o():
    x = Lock(1)
    with x as y:
        y.heat()
def p():
    x = Lock(1)
    with x:
        x.turn()
def q():
    with Shed() as x:
        x.heat()
def r():
    with Barn() as x:
        x.heat()
def s():
    with Yurt() as x:
        x.heat()
`
	g := open(t, project(t, map[string]string{"lib.py": lib, "use.py": use}))
	build(t, g)
	want := map[string]string{"a": "Room.heat", "b": "Hall.heat", "c": "Hall.heat", "e": "Room.heat", "f": "Room.heat", "g": "Hall.heat", "h": "Key.turn",
		"i": "Room.heat", "k": "Hall.heat", "l": "Gate.heat", "n": "Room.heat", "o": "Room.heat", "p": "Lock.turn", "q": "Shed.heat", "r": "Barn.heat", "s": "Yurt.heat"}
	for name := range strings.FieldsSeq("a b c d e f g h i j k l m n o p q r s") {
		for method := range strings.FieldsSeq("Room.heat Hall.heat Door.heat Gate.heat Tent.heat Shed.heat Barn.heat Yurt.heat Key.turn Lock.turn") {
			if got := edge(t, g.View(), "function:use."+name, codegraph.Calls, "method:lib."+method); got != (want[name] == method) {
				t.Errorf("use.%s calls %s: %t", name, method, got)
			}
		}
	}
}
