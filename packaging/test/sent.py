"""sent.py PROVIDER TEXT: looks whether a request to the provider had a block with the text."""

import base64
import json
import sys
import urllib.request

provider, text = sys.argv[1:]
with urllib.request.urlopen(f"{provider}/_upstream/requests", timeout=20) as response:
    sent = [base64.b64decode(r.get("body") or "").decode(errors="replace") for r in json.load(response)]
if not any("[Pipeline Knowledge]" in body and text in body for body in sent):
    sys.exit(f"the provider was not sent what is known: {sent}")
