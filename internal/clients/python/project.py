"""A provider and a project in which Ken starts by itself, for the tests of the client."""

import base64
import json
import os
import subprocess
import sys
import tempfile
import unittest
import urllib.request
from pathlib import Path

from sides import CLAIM, KEN, MARKER, PLAIN, QUESTION, ROOT, UPSTREAM, launch

os.environ["KEN_BIN"] = KEN
for name in ("KEN_URL", "KEN_KEY", "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"):
    os.environ.pop(name, None)

from ken import Ken  # noqa: E402

PACKAGES = ROOT / "packaging" / "python"


class Project(unittest.TestCase):
    """Each test has a provider at self.up, a folder, and a Ken of that folder."""

    maxDiff = None

    def setUp(self):
        up, self.up = launch(UPSTREAM)
        self.addCleanup(up.communicate)
        folder = tempfile.TemporaryDirectory(prefix="ken-python-", ignore_cleanup_errors=True)
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / ".ken").mkdir()
        # What is found must not depend on the machine's load.
        (self.folder / ".ken" / "config.yaml").write_text("retrieval:\n  deadline: 30s\nrepository:\n  index: false\n")
        self.k = Ken(project=self.folder)
        self.addCleanup(self.k.close)

    def requests(self):
        """What the provider got."""
        with urllib.request.urlopen(self.up + "/_upstream/requests") as answer:
            return [r for r in json.load(answer) if r.get("body")]

    def bodies(self):
        return [json.loads(base64.b64decode(r["body"])) for r in self.requests()]

    def check_blocks(self, n=1):
        """Checks that each of n model calls has the one block, with the claim, right before the question."""
        bodies = self.bodies()
        self.assertEqual(len(bodies), n, bodies)
        for body in bodies:
            messages = body.get("messages") or body["input"]
            texts = [json.dumps(m, ensure_ascii=False) for m in messages]
            at = [i for i, text in enumerate(texts) if MARKER in text]
            self.assertEqual(len(at), 1, texts)
            self.assertIn(CLAIM, texts[at[0]])
            self.assertIn(QUESTION, texts[at[0] + 1])
            self.assertEqual(messages[at[0]]["role"], "user")
        return bodies

    def said(self, session):
        """The texts of a session's journal."""
        return [(m["role"], m.get("text", "")) for m in self.k.session(session).messages()]

    def python(self, code, **env):
        """Runs a program in the folder, as its user would."""
        done = subprocess.run([sys.executable, "-c", code], cwd=self.folder, capture_output=True, text=True, timeout=120,
                              env={**os.environ, "PYTHONPATH": str(PACKAGES), **env})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()
