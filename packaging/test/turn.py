"""turn.py GATEWAY PROVIDER [KEY]: sends one chat turn through the gateway, and looks at what the provider was sent."""

import base64
import json
import sys
import urllib.request

gateway, provider, key = sys.argv[1], sys.argv[2], (sys.argv[3:] or ["sk-test"])[0]


def call(url, body=None):
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    request = urllib.request.Request(url, None if body is None else json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=20) as response:
        return json.load(response)


answer = call(f"{gateway}/v1/chat/completions", {
    "model": "gpt-4o-mini",
    "messages": [{"role": "user", "content": "May I deploy the payments service today?"}],
})
if not answer["choices"]:
    sys.exit(f"no answer: {answer}")
sent = base64.b64decode(call(f"{provider}/_upstream/requests")[-1]["body"]).decode()
if "[Pipeline Knowledge]" not in sent or "on Fridays" not in sent:
    sys.exit(f"the provider was not sent what was learned: {sent}")
