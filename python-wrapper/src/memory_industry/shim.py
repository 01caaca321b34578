"""Finds the memory-industry executable of exactly this version and becomes it.

Nothing is written to stdout here: it carries the JSON-RPC of the server.
"""

import os
import platform
import signal
import subprocess
import sys
from pathlib import Path
from typing import List, Mapping, Optional, Tuple

from memory_industry import __version__

_WINDOWS = os.name == "nt"
_NAMES = ("memory-industry.exe", "cuba-memorys.exe") if _WINDOWS else ("memory-industry", "cuba-memorys")
# Set while a shim asks what it found on PATH for its version: if that is another shim, it must not look on PATH itself.
_INSIDE = "MEMORY_INDUSTRY_SHIM"
_VERSION_TIMEOUT_SECS = 10


def _is_there(file: Path) -> bool:
    """An empty file is what an interrupted download leaves behind, and counts as missing."""
    try:
        return file.is_file() and file.stat().st_size > 0
    except OSError:
        return False


def private_places(env: Mapping[str, str]) -> List[Path]:
    """Where an executable of this version lies when it was fetched: inside this package, else in the user's cache."""
    places = [Path(__file__).resolve().parent / "vendor" / _NAMES[0]]
    home = env.get("HOME") or env.get("USERPROFILE")
    if home:
        places.append(Path(home) / ".cache" / "memory-industry" / "bin" / __version__ / _NAMES[0])
    return places


def _says_this_version(file: Path, env: Mapping[str, str]) -> bool:
    try:
        asked = subprocess.run(
            [str(file), "--version"],
            env={**env, _INSIDE: "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_VERSION_TIMEOUT_SECS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return False
    words = asked.stdout.decode("utf-8", "replace").split()
    return asked.returncode == 0 and bool(words) and words[-1] == __version__


def _own_script() -> Optional[Path]:
    return Path(sys.argv[0]).resolve() if sys.argv and sys.argv[0] else None


def _on_path(env: Mapping[str, str]) -> Optional[Path]:
    """One on PATH serves only if it says this version: the server migrates the database, another version would rewrite the schema."""
    if _INSIDE in env:
        return None
    own = _own_script()
    for folder in filter(None, env.get("PATH", "").split(os.pathsep)):
        for name in _NAMES:
            file = Path(folder) / name
            if _is_there(file) and file.resolve() != own and _says_this_version(file, env):
                return file
    return None


def locate(env: Mapping[str, str]) -> Tuple[Optional[Path], str]:
    """The executable, or None and the reason why there is none."""
    named = env.get("MEMORY_INDUSTRY_BINARY")
    if named:
        file = Path(named)
        if _is_there(file) and file.resolve() == _own_script():
            return None, f"MEMORY_INDUSTRY_BINARY names {named}, which is this starter and not the program."
        return (file, "") if _is_there(file) else (None, f"MEMORY_INDUSTRY_BINARY names {named}, and there is no such file (or it is empty).")
    places = private_places(env)
    found = next((place for place in places if _is_there(place)), None) or _on_path(env)
    if found:
        return found, ""
    lines = [
        f"The executable of version {__version__} for {sys.platform}-{platform.machine().lower()} is not on this machine. Looked at:",
        *(f"  {place}" for place in places),
        f"  PATH (one that says version {__version__})",
        "Build it from the repository with 'npm run build' and set MEMORY_INDUSTRY_BINARY to dist/memory-industry, or put it at one of these places.",
    ]
    return None, "\n".join(lines)


def _accompany(file: Path, args: List[str]) -> int:
    """Windows cannot replace a process; the program gets the console's signals itself and reads the end of input when we are gone."""
    with subprocess.Popen([str(file), *args]) as child:
        while True:
            try:
                return child.wait()
            except KeyboardInterrupt:
                continue


def main() -> None:
    """Entry point of both console scripts; does not return."""
    file, missing = locate(os.environ)
    if file is None:
        print(f"memory-industry: {missing}", file=sys.stderr)
        sys.exit(1)
    args = sys.argv[1:]
    if _WINDOWS:
        sys.exit(_accompany(file, args))
    # Python ignores SIGPIPE, and what is ignored stays so across exec; the program wants the system's default.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        os.execv(str(file), [str(file), *args])
    except OSError as error:
        print(f"memory-industry: {file} could not be started: {error.strerror}", file=sys.stderr)
        sys.exit(1)
