"""sent.py PROVIDER TEXT: looks whether the last request to the provider had a block with the text."""

import base64
import json
import sys
import urllib.request

provider, text = sys.argv[1:]
with urllib.request.urlopen(f"{provider}/_upstream/requests", timeout=20) as response:
    sent = base64.b64decode(json.load(response)[-1]["body"]).decode()
if "[Pipeline Knowledge]" not in sent or text not in sent:
    sys.exit(f"the provider was not sent what is known: {sent}")
