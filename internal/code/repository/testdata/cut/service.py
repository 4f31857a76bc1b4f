#!/usr/bin/env python3
"""A small service."""

import os

LIMIT = 10


# Serves one request after another.
class Service:
    """Serves requests."""

    def __init__(self, port):
        self.port = port
        self.seen = {}

    @property
    def address(self):
        return "localhost:%d" % self.port

    def handle(self, request):
        if request.path == "/health":
            return 200, "ok"

        # Everything else counts against the limit.
        self.seen[request.client] = self.seen.get(request.client, 0) + 1
        if self.seen[request.client] > LIMIT:
            return 429, "slow down"
        else:
            return 200, "hello " + request.client


if __name__ == "__main__":
    Service(int(os.environ["PORT"])).handle(None)
