"""A provider and a gateway that knows the claim, for the tests of a client."""

import base64
import json
import os
import re
import subprocess
import tempfile
import time
import unittest
import urllib.request
from pathlib import Path

QUESTION = "How often does the payments service retry a failed transfer?"
CLAIM = "The payments service retries a failed transfer three times, ten seconds apart."
PLAIN = "The payments service retries a failed transfer three times, “ten seconds” apart ✓"
MARKER = "[Pipeline Knowledge]"

ROOT = Path(__file__).resolve().parents[3]
KEN = os.environ.get("KEN_BIN", str(ROOT / "bin" / "ken"))
UPSTREAM = os.environ.get("KEN_UPSTREAM_BIN", str(ROOT / "bin" / "upstream"))
ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+")


def launch(*command):
    """Starts a program and returns it with the address that it prints."""
    p = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    for line in p.stdout:
        if found := ADDRESS.search(line):
            return p, found.group()
    raise RuntimeError(f"{command} ended with {p.wait()}")


def conversation(body):
    """The bytes of a request's conversation up to the end of the question."""
    begin = re.search(rb'"(messages|input)":\s*\[', body).start()
    return body[begin : body.rindex(QUESTION.encode()) + len(QUESTION)]


class Sides(unittest.TestCase):
    """Each test has a provider, a gateway at self.url, and no session yet."""

    maxDiff = None

    def setUp(self):
        up, self.up = launch(UPSTREAM)
        self.addCleanup(up.communicate)
        folder = tempfile.TemporaryDirectory(prefix="ken-python-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        (Path(folder.name) / ".ken").mkdir()
        # What is found must not depend on the machine's load.
        (Path(folder.name) / ".ken" / "config.yaml").write_text("retrieval:\n  deadline: 30s\nrepository:\n  index: false\n")
        subprocess.run([KEN, "--dir", folder.name, "--quiet", "learn", CLAIM], check=True, stdout=subprocess.DEVNULL)
        gate, self.url = launch(KEN, "--dir", folder.name, "--quiet", "serve", "--listen", "127.0.0.1:0", "--upstream", self.up + "/v1")
        self.addCleanup(gate.communicate)
        self.addCleanup(gate.terminate)
        self.v1 = self.url + "/v1"

    def get(self, url):
        with urllib.request.urlopen(url) as answer:
            return json.load(answer)

    def bodies(self):
        """Bodies of the model calls that the provider got."""
        return [base64.b64decode(r["body"]) for r in self.get(self.up + "/_upstream/requests") if r.get("body")]

    def check(self, same=True):
        """Checks a conversation of two requests: each has the one block, right before the question, no byte of the
        conversation up to there changes, and both are one session."""
        bodies = self.bodies()
        self.assertEqual(len(bodies), 2, bodies)
        begins = [conversation(b) for b in bodies]
        if same:
            self.assertEqual(begins[0], begins[1])
        for body in bodies:
            self.assertEqual(body.count(MARKER.encode()), 1, body)
            request = json.loads(body)
            messages = request.get("messages") or request["input"]
            at = next(i for i, m in enumerate(messages) if MARKER in json.dumps(m))
            self.assertEqual(messages[at + 1]["role"], "user")
            self.assertIn(QUESTION, json.dumps(messages[at + 1]))
        for _ in range(100):  # answers are journaled behind the client's back
            sessions = self.get(self.url + "/api/sessions")["sessions"]
            if len(sessions) == 1 and sessions[0]["messages"] >= 3:  # the last answer says the same as the first
                return
            time.sleep(0.1)
        self.fail(f"not one session with its messages: {sessions}")
