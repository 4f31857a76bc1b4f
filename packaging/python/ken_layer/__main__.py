"""python -m ken_layer: run ken with the same arguments."""

import os
import subprocess
import sys

from ken_layer import find_ken


def main() -> None:
    command = [find_ken(), *sys.argv[1:]]
    if sys.platform == "win32":
        # exec on Windows returns to the shell before the program has ended.
        try:
            sys.exit(subprocess.run(command).returncode)
        except KeyboardInterrupt:
            sys.exit(130)
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
