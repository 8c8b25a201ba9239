"""Runs the binary under test."""

from __future__ import annotations

import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

POLL_SECONDS = 0.001


@dataclass(frozen=True)
class Run:
    """How one run ended."""

    problems: list[str]
    seconds: float
    peak_anonymous: int = 0
    """Highest resident anonymous memory seen, in bytes; 0 when it was not watched."""


@dataclass(frozen=True)
class Relais:
    """The binary, with the arguments that every run gets."""

    path: Path
    args: list[str] = field(default_factory=list)
    timeout: float = 300.0

    def run(self, model: Path, out: Path, *args: str) -> Run:
        """Runs `relais run MODEL -o OUT -q …`; whatever is wrong with status, output file or input file is a problem."""
        return self._run(model, out, args, watch=False)

    def run_watched(self, model: Path, out: Path, *args: str) -> Run:
        """The same, sampling the anonymous memory of the process."""
        return self._run(model, out, args, watch=True)

    def _run(self, model: Path, out: Path, args: tuple[str, ...], *, watch: bool) -> Run:
        command = [str(self.path), "run", str(model), "-o", str(out), "-q", *self.args, *args]
        before = fingerprint(model)
        start = time.perf_counter()
        peak = 0
        try:
            with subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
            ) as process:
                try:
                    if watch:
                        peak = watch_anonymous(process, self.timeout)
                    stderr = process.communicate(timeout=self.timeout)[1].decode(errors="replace")
                except subprocess.TimeoutExpired:
                    process.kill()
                    return Run([f"still running after {self.timeout:.0f} s"], self.timeout, peak)
        except OSError as error:
            return Run([f"cannot start: {error}"], 0.0)
        seconds = time.perf_counter() - start
        return Run(problems_of(process.returncode, stderr, out, before, model), seconds, peak)


def problems_of(status: int, stderr: str, out: Path, before: tuple[int, int], model: Path) -> list[str]:
    problems: list[str] = []
    if status != 0:
        problems.append(f"{describe_status(status)}: {stderr.strip()[:600]}")
        if out.exists():
            problems.append("a failed run left an output file")
    elif not out.exists():
        problems.append("exit status 0 but no output file")
    if fingerprint(model) != before:
        problems.append("the input file was changed")
    return problems


def describe_status(status: int) -> str:
    if status >= 0:
        return f"exit status {status}"
    try:
        return f"killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"killed by signal {-status}"


def fingerprint(path: Path) -> tuple[int, int]:
    """Size and modification time; enough to see that somebody wrote to the file."""
    stat = path.stat()
    return stat.st_size, stat.st_mtime_ns


def watch_anonymous(process: subprocess.Popen[bytes], timeout: float) -> int:
    """Samples `RssAnon` until the process ends. Standard error is drained afterwards: `-q` runs write little."""
    status = Path(f"/proc/{process.pid}/status")
    peak = 0
    deadline = time.monotonic() + timeout
    while process.poll() is None:
        if time.monotonic() > deadline:
            raise subprocess.TimeoutExpired(process.args, timeout)
        try:
            text = status.read_text()
        except OSError:
            break
        for line in text.splitlines():
            if line.startswith("RssAnon:"):
                peak = max(peak, int(line.split()[1]) * 1024)
        time.sleep(POLL_SECONDS)
    return peak
