"""The client's types: mypy finds no fault in it, and sees the types of what it returns."""

import subprocess
import sys
import tempfile
import unittest
from importlib.util import find_spec

from project import PACKAGES

USE = """
from openai import AsyncOpenAI, OpenAI
from typing_extensions import assert_type

from ken import AsyncKen, Claim, Ken

k = Ken()
assert_type(k.wrap(OpenAI()), OpenAI)
assert_type(k.wrap(AsyncOpenAI()), AsyncOpenAI)
assert_type(k.recall("x"), list[Claim])
with k.session() as s:
    assert_type(s.wrap(OpenAI()), OpenAI)

async def main(k: AsyncKen) -> None:
    assert_type(await k.remember("x", about="y"), Claim)
    async with k.session() as s:
        assert_type(await s.learned(), list[Claim])
"""

# Modules by the framework that they need.
MODULES = {"langchain": "langchain", "agents": "openai_agents", "pydantic_ai": "pydantic_ai", "litellm": "litellm", "llama_index": "llama_index"}


class TestTypes(unittest.TestCase):
    def mypy(self, *arguments):
        done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", sys.prefix + "/.mypy", *arguments], cwd=PACKAGES,
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_strict(self):
        core = ["ken_layer", *map(str, sorted((PACKAGES / "ken").glob("_*.py")))]
        adapters = [f"ken/{module}.py" for framework, module in MODULES.items() if find_spec(framework)]
        self.assertTrue(len(core) > 7 and adapters)
        self.mypy(*core, *adapters)
        self.mypy("--platform", "win32", *core)

    def test_use(self):
        with tempfile.NamedTemporaryFile("w", suffix=".py") as program:
            program.write(USE)
            program.flush()
            self.mypy(program.name)
