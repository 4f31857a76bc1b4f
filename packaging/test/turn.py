"""turn.py GATEWAY PROVIDER [KEY]: sends chat turns through the gateway, and looks at what the provider was sent.

The first turn must get what was learned before. Then a fact is said in one session, and must be in the block of another."""

import base64
import json
import sys
import time
import urllib.parse
import urllib.request

gateway, provider, key = sys.argv[1], sys.argv[2], (sys.argv[3:] or ["sk-test"])[0]


def call(url, body=None, **headers):
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json", **headers}
    request = urllib.request.Request(url, None if body is None else json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=20) as response:
        return json.load(response)


def says(session, text):
    """Sends one turn and returns what the provider was sent for it."""
    answer = call(f"{gateway}/v1/chat/completions", {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": text}]}, **{"X-Ken-Session": session})
    if not answer["choices"]:
        sys.exit(f"no answer: {answer}")
    return base64.b64decode(call(f"{provider}/_upstream/requests")[-1]["body"]).decode()


def must_have(sent, text):
    if "[Pipeline Knowledge]" not in sent or text not in sent:
        sys.exit(f"the provider was not sent what is known: {sent}")


must_have(says("first", "May I deploy the payments service today?"), "on Fridays")

says("monday", "Remember that the staging database listens on port 6432.")
question = "Which port does the staging database listen on?"
for _ in range(200):  # what a user states plainly is kept a moment after the message
    found = call(f"{gateway}/api/search?q={urllib.parse.quote(question)}")["results"]
    if any("6432" in claim["text"] for claim in found):
        break
    time.sleep(0.05)
must_have(says("tuesday", question), "listens on port 6432")
