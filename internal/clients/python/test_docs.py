"""Runs every snippet of docs/python.md, and those in Python of the README, as they stand there."""

import base64
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
import urllib.request
from pathlib import Path

from project import PACKAGES
from sides import KEN, MARKER, ROOT, UPSTREAM, launch

PAGE = ROOT / "docs" / "python.md"
README = ROOT / "README.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
HERE = Path(__file__).resolve().parent


def sections(page):
    """The page's sections, each with its blocks: the language and the text."""
    for section in re.split(r"^## ", page.read_text(), flags=re.M)[1:]:
        blocks = BLOCK.findall(section)
        if any(language == "python" for language, _ in blocks):
            yield section.partition("\n")[0], blocks


def same(output):
    """What differs between two runs is made alike: dates, and the names of claims."""
    return re.sub(r"\[k:[0-9a-f]{6}\]|\d{4}-\d\d-\d\d", "…", output)


class TestDocs(unittest.TestCase):
    maxDiff = None

    def test_versions(self):
        """The page names the versions that are tested."""
        installed = {line for name in ("requirements", "requirements-others") for line in (HERE / f"{name}.txt").read_text().split()}
        rows = re.findall(r"^\| ([a-z, -]+) \| ([0-9., ]+) \|$", PAGE.read_text(), re.M)
        self.assertEqual(len(rows), 6)
        for names, versions in rows:
            for name, version in zip(names.split(", "), versions.split(", "), strict=True):
                self.assertIn(f"{name}=={version}", installed)

    def run_section(self, blocks):
        """Each section has a folder of its own, and each snippet is a program of its own. A text block is the output of the one before.
        Returns what was sent to models."""
        provider, url = launch(UPSTREAM)
        self.addCleanup(provider.communicate)
        env = {**os.environ, "KEN_BIN": KEN, "PYTHONPATH": str(PACKAGES), "OPENAI_API_KEY": "sk-test", "OPENAI_BASE_URL": url + "/v1",
               "ANTHROPIC_API_KEY": "sk-test", "ANTHROPIC_BASE_URL": url, "OPENAI_AGENTS_DISABLE_TRACING": "1",
               "LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_TELEMETRY": "False"}
        with tempfile.TemporaryDirectory(prefix="ken-docs-", ignore_cleanup_errors=True) as folder:
            output = None
            for language, text in blocks:
                if language == "text":
                    self.assertEqual(same(output), same(text))
                if language != "python":
                    continue
                python = sys.executable
                if "litellm" in text or "llama_index" in text:
                    python = str(HERE / ".venv-others" / "bin" / "python")
                done = subprocess.run([python, "-W", "ignore", "-c", text], cwd=folder, env=env, capture_output=True, text=True, timeout=120)
                self.assertEqual(done.returncode, 0, text + done.stderr)
                output = done.stdout
        with urllib.request.urlopen(url + "/_upstream/requests") as answer:
            return [base64.b64decode(r["body"]).decode() for r in json.load(answer) if r.get("body")]

    def test_readme(self):
        """The README's snippet remembers, and asks a model that is told."""
        (blocks,) = [blocks for _, blocks in sections(README)]
        (request,) = self.run_section(blocks)
        self.assertIn(MARKER, request)
        self.assertIn("The payments service retries a failed transfer three times.", request)


def test_of(blocks):
    def test(self):
        self.run_section(blocks)

    return test


for title, blocks in sections(PAGE):
    setattr(TestDocs, "test_" + re.sub(r"\W+", "_", title.lower()), test_of(blocks))
