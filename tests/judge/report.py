"""What a command found: counted, with one line per failure."""

from __future__ import annotations

from collections.abc import Sequence


class Report:
    """Collects the outcome of each case and prints the failures as they come."""

    def __init__(self) -> None:
        self.n_passed = 0
        self.n_failed = 0

    def passed(self) -> None:
        self.n_passed += 1

    def failed(self, name: str, why: str) -> None:
        self.n_failed += 1
        print(f"FAIL {name}: {one_line(why)}", flush=True)

    def judged(self, name: str, problems: Sequence[str]) -> None:
        """Counts one case, failed if it has problems."""
        if problems:
            self.failed(name, "; ".join(problems))
        else:
            self.passed()

    def finish(self) -> int:
        """Prints the summary and gives the exit status; nothing judged is a failure too."""
        print(f"{self.n_passed} passed, {self.n_failed} failed", flush=True)
        if self.n_passed + self.n_failed == 0:
            print("no case was found, so nothing is shown")
            return 1
        return int(self.n_failed > 0)


def one_line(text: str, limit: int = 400) -> str:
    """The text with runs of white space made one space, cut at `limit` characters."""
    text = " ".join(text.split())
    return text if len(text) <= limit else f"{text[:limit]}…"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns side by side, the first one left-aligned, the others right-aligned."""
    lines = [header, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of a page."""
    lines = [f"| {' | '.join(line)} |" for line in [header, *rows]]
    return "\n".join([lines[0], "|---" * len(header) + "|", *lines[1:]])
