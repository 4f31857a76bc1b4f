"""A model call through Ken, as docs/python.md has it: the provider must get the block and the client's own key."""

import base64
import json
import sys
import urllib.request

from openai import OpenAI

from ken import Ken

provider = sys.argv[1]
urllib.request.urlopen(urllib.request.Request(provider + "/_upstream/requests", method="DELETE")).close()

k = Ken()
client = k.wrap(OpenAI())
answer = client.chat.completions.create(model="gpt-4.1-mini", messages=[{"role": "user", "content": "May I deploy payments today?"}])
assert answer.choices[0].message.content, answer

with urllib.request.urlopen(provider + "/_upstream/requests") as got:
    (call,) = [r for r in json.load(got) if r.get("body")]
body = base64.b64decode(call["body"]).decode()
assert "[Pipeline Knowledge]" in body and "on Fridays" in body, body
assert "Bearer sk-test" in json.dumps(call["header"]), call["header"]
