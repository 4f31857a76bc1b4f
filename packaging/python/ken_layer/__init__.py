"""The program ken, the knowledge layer for LLM agents, as a Python package."""

from __future__ import annotations

import os
import sys
import sysconfig

__all__ = ["find_ken"]


def find_ken() -> str:
    """Return the path of the program in this package.

    Raises FileNotFoundError where it was not installed, or was removed.
    """
    name = "ken.exe" if sys.platform == "win32" else "ken"
    # pip install --user, --prefix and --target put programs elsewhere.
    folders = [sysconfig.get_path("scripts"), sysconfig.get_path("scripts", scheme=sysconfig.get_preferred_scheme("user"))]
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    folders.append(os.path.join(here, "bin"))
    if os.path.basename(here) in ("site-packages", "dist-packages"):
        up = 2 if sys.platform == "win32" else 3
        prefix = here
        for _ in range(up):
            prefix = os.path.dirname(prefix)
        folders.append(os.path.join(prefix, "Scripts" if sys.platform == "win32" else "bin"))
    for folder in folders:
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            return path
    raise FileNotFoundError(f"{name} is in none of: {', '.join(folders)}. Install the wheel again: pip install --force-reinstall ken-layer")
