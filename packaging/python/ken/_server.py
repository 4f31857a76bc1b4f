"""The ken serve that programs of one folder share."""

from __future__ import annotations

import atexit
import hashlib
import hmac
import json
import os
import secrets
import shutil
import socket
import subprocess
import tempfile
import threading
from dataclasses import dataclass

from ken._problem import KenError, of_answer

PATIENCE = 30.0  # seconds for a server to say that it waits for this program
START_PATIENCE = 60.0  # seconds for ken serve --shared to print its line; it gives up after 30 by itself

# A Ctrl-C in the terminal is for this program alone: others use the server. On Windows that is a
# group without a window, elsewhere start_new_session.
NEW_GROUP: int = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0) | getattr(subprocess, "CREATE_NO_WINDOW", 0)


@dataclass
class Server:
    """A shared ken serve, which runs at least as long as this process holds it."""

    url: str
    key: str
    """The key that requests need. "" if the server has its own keys."""
    connection: socket.socket
    users: int = 0


_lock = threading.Lock()
_servers: dict[tuple[str, str], Server] = {}


def acquire(project: str) -> Server:
    """Find or start the ken serve of a folder, and hold it. Each call needs one release."""
    key = (program(), os.path.realpath(project))
    with _lock:
        server = _servers.get(key)
        if server is None or not alive(server):
            if server is not None:
                server.connection.close()
            server = _servers[key] = _start(*key)
        server.users += 1
        return server


def release(server: Server) -> None:
    """Release a server. It ends some seconds after the last program has released it."""
    with _lock:
        server.users -= 1
        if server.users > 0:
            return
        for key, other in list(_servers.items()):
            if other is server:
                del _servers[key]
        server.connection.close()


@atexit.register
def _close() -> None:
    for server in _servers.values():
        server.connection.close()


def program() -> str:
    """Return the path of ken: KEN_BIN, else the one in the wheel, else that of PATH."""
    if named := os.environ.get("KEN_BIN"):
        return named
    try:
        from ken_layer import find_ken

        return find_ken()
    except (ImportError, FileNotFoundError) as missing:
        if found := shutil.which("ken"):
            return found
        raise KenError("the program ken is not there", code="not_found", hint="Run pip install ken-layer, or set KEN_BIN to its path.") from missing


def alive(server: Server) -> bool:
    """Whether a server still runs. It never writes after its first message, so a read returns only at its end."""
    try:
        return bool(server.connection.recv(1))  # which does not block
    except (BlockingIOError, InterruptedError):
        return True
    except OSError:
        return False


def _start(binary: str, project: str) -> Server:
    last: OSError | None = None
    for _ in range(3):  # the server that is found may be about to end
        address = _address(binary, project)
        host, _, port = address["hold"].rpartition(":")
        try:
            connection = socket.create_connection((host, int(port)), timeout=PATIENCE)
            if _greet(connection, address.get("token", "")):
                connection.setblocking(False)
                return Server(address["url"], address.get("key", ""), connection)
            connection.close()
        except OSError as failed:
            last = failed
    raise KenError(f"the ken serve of {project} does not answer", code="unavailable", hint="Try again, or look for a ken process that hangs.") from last


def _greet(connection: socket.socket, token: str) -> bool:
    """Whether it is the server that answers: after a crash, another account may have its port."""
    line = secrets.token_hex()
    welcome = f"ken {hmac.new(token.encode(), line.encode(), hashlib.sha256).hexdigest()}\n".encode()
    connection.sendall(line.encode() + b"\n")
    return hmac.compare_digest(_read(connection, len(welcome)), welcome)


def _read(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size and (more := connection.recv(size - len(data))):
        data += more
    return data


def _address(binary: str, project: str) -> dict[str, str]:
    """Run ken serve --shared, which prints where the server of the folder is."""
    command = [binary, "--dir", project, "--quiet", "--json", "serve", "--shared"]
    with tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors,
                                       start_new_session=True, creationflags=NEW_GROUP)
        except OSError as failed:
            raise KenError(f"{binary} can't be run: {failed}", code="unavailable", hint="Run pip install --force-reinstall ken-layer.") from failed
        assert process.stdout is not None
        late = threading.Event()

        def end() -> None:
            late.set()
            process.kill()

        timer = threading.Timer(START_PATIENCE, end)
        timer.daemon = True
        timer.start()
        with process.stdout:
            line = process.stdout.readline()
        timer.cancel()
        if not line:
            process.wait()
            if late.is_set():
                raise KenError(f"the ken serve of {project} takes too long to start", code="unavailable",
                               hint=f"Run ken --dir {project} serve in a terminal to see more.")
            errors.seek(0)
            raise _refused(errors.read().decode(errors="replace"), project)
    # It may outlive this process; while both run, this thread waits for its end.
    threading.Thread(target=process.wait, name="ken", daemon=True).start()
    address: dict[str, str] = json.loads(line)
    return address


def _refused(said: str, project: str) -> KenError:
    """Read what a ken serve that did not start has said: a problem document, perhaps below warnings."""
    for line in reversed(said.splitlines()):
        if line.startswith("{"):
            problem = of_answer(0, line.encode(), None)
            field = "project" if problem.field == "--dir" else problem.field
            return KenError(f"Ken can't be started in {project}: {problem.message}", code=problem.code, field=field, hint=problem.hint)
    return KenError(f"Ken can't be started in {project}: {said.strip() or 'it ended at once'}", code="unavailable",
                    hint=f"Run ken --dir {project} serve in a terminal to see more.")
