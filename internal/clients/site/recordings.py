"""Records terminals into docs/pictures/*.svg: make recordings.

Programs run in a real terminal. Only the pauses are made up, so that a recording is the same each time, and the names
of temporary folders. Dates and milliseconds are those of the day. The asciicasts stay in bin/recordings.
"""

import fcntl
import json
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
COLUMNS, ROWS = 100, 30
KEEP = 15_000  # milliseconds that the end stays


def section(file, heading):
    """The first block of commands below a heading."""
    text = (ROOT / file).read_text()
    return re.search(r"```sh\n(.*?)```", text[text.index(heading):], re.DOTALL)[1].splitlines()


def shop(folder):
    """The small repository in which docs/repository.md runs."""
    parts = re.split(r"^-- (.+) --\n", (ROOT / "cmd/ken/testdata/docs/repository.txtar").read_text(), flags=re.MULTILINE)[1:]
    for name, text in zip(parts[::2], parts[1::2]):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    git = ["git", "-c", "user.name=Ana", "-c", "user.email=ana@example.com", "-C", folder]
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "Begin the shop"]):
        subprocess.run([*git, *arguments], check=True)


class Recording:
    """An asciicast in the making. Time is what is shown, not what passes."""

    def __init__(self, home, names):
        self.events, self.now, self.home, self.names = [], 0.0, home, names
        self.folder = Path(tempfile.mkdtemp(dir=home))

    def show(self, text, pause):
        self.events.append([round(self.now, 2), "o", text])
        self.now += pause

    def type(self, text):
        for i in range(0, len(text), 3):
            self.show(text[i:i + 3], 0.1)

    def run(self, command, wait=1.5):
        self.show("\x1b[1;32m$\x1b[0m ", 0.5)
        self.type(command)
        self.show("\r\n", 0.3)
        pages = self.output(command).splitlines(keepends=True)
        while pages:  # a question waits for its answer, and what is longer than a page scrolls by
            page, pages = pages[:ROWS // 2], pages[ROWS // 2:]
            before, asked, after = "".join(page).partition("[y/N] ")
            self.show(before + asked, 2 if asked else 1.4 if pages else wait)
            if asked:
                self.show(after, wait)

    def output(self, command):
        """Run a command in a terminal, say yes to what it asks, and return what the terminal got."""
        process, terminal = pty.fork()
        if process == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
            os.chdir(self.folder)
            path = f"{self.home}/bin:{os.environ['PATH']}"
            os.execvpe("sh", ["sh", "-c", command], {"HOME": str(self.home), "PATH": path, "TERM": "xterm-256color", "LANG": "C.UTF-8"})
        got = b""
        while more := self.read(terminal):
            got += more
            if more.endswith(b"[y/N] "):
                os.write(terminal, b"y\n")
        os.close(terminal)
        if os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]):
            sys.exit(f"{command} failed:\n{got.decode()}")
        text = re.sub("[^\n]*\r\x1b\\[K", "", got.decode())  # progress
        for real, shown in self.names.items():
            text = text.replace(real, shown)
        return text

    @staticmethod
    def read(terminal):
        try:
            return os.read(terminal, 1 << 16)
        except OSError:  # its other end is closed
            return b""

    def save(self, name):
        cast = ROOT / f"bin/recordings/{name}.cast"
        cast.parent.mkdir(parents=True, exist_ok=True)
        header = {"version": 2, "width": COLUMNS, "height": ROWS}
        cast.write_text("".join(json.dumps(line) + "\n" for line in [header, *self.events]))
        picture = ROOT / f"docs/pictures/{name}.svg"
        subprocess.run([sys.executable, "-m", "termtosvg", "render", cast, picture, "-t", "gjm8", "-D", str(KEEP)], check=True, stderr=subprocess.DEVNULL)
        print(f"{picture.relative_to(ROOT)}: {picture.stat().st_size // 1000} kB")


def main():
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        (home / "bin").mkdir()
        shutil.copy(ROOT / "bin/ken", home / "bin/ken")
        names = {f"{home}/bin/ken": "/usr/local/bin/ken", str(home): "/home/ana"}

        demo = Recording(home, names)
        for command in section("README.md", "## 60 seconds"):
            if not command.startswith("cd "):  # the folder is new
                demo.run(command)
        demo.save("demo")

        connect = Recording(home, names)
        subprocess.run(["git", "init", "-q", connect.folder], check=True)
        (home / ".claude").mkdir()
        (home / ".claude/settings.json").write_text('{\n  "model": "opus"\n}\n')
        connect.run("ken connect claude-code", 3)
        connect.run("ken disconnect claude-code", 3)
        connect.run("cat ~/.claude/settings.json")
        connect.save("connect")

        ask = Recording(home, names)
        shop(ask.folder)
        ask.run('ken ask "how often is a transfer tried?"')
        ask.save("ask")


if __name__ == "__main__":
    main()
