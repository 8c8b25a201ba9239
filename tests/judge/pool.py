"""Work on many cases in subprocesses, so that a case which kills its process fails alone."""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Generic, TypeVar

FORKED = "fork" if sys.platform == "linux" else "spawn"
"""Makes a subprocess that has what this one imported, which takes a second. There are no threads that it would lack."""
STOP = None
"""In the place of a task. Other subprocesses may have the ends of the pipe, so that closing it says nothing."""
T = TypeVar("T")
R = TypeVar("R")
Work = Callable[[T, Callable[[str], None]], R]
"""What a worker does with one task; it may tell which stage it has reached."""


@dataclass(frozen=True)
class Died:
    """The subprocess ended, or ran out of time, in the middle of a task."""

    why: str
    stage: str


@dataclass(frozen=True)
class Done(Generic[T, R]):
    task: T
    result: R | Died


def run(work: Work[T, R], tasks: Sequence[T], n_workers: int, timeout: float) -> Iterator[Done[T, R]]:
    """Each task with its result, in the order they finish. `work` must be importable by name."""
    todo = iter(tasks)
    busy: dict[Connection, Worker[T, R]] = {}

    def employ(worker: Worker[T, R]) -> None:
        for task in todo:
            worker.begin(task, timeout)
            busy[worker.connection] = worker
            return
        worker.stop()

    for _ in range(max(1, min(n_workers, len(tasks)))):
        employ(Worker(work, FORKED))
    while busy:
        ready = wait(list(busy), max(0.0, min(worker.deadline for worker in busy.values()) - time.monotonic()))
        for worker in list(busy.values()):
            if worker.connection in ready:
                answer = worker.hear(timeout)
            elif worker.deadline <= time.monotonic():
                answer = worker.overdue(timeout)
            else:
                continue
            if answer is None:
                continue
            del busy[worker.connection]
            yield Done(worker.task, answer)
            if isinstance(answer, Died):
                worker.kill()
                worker = Worker(work, FORKED)
            employ(worker)


class Worker(Generic[T, R]):
    """One subprocess, the pipe to it, and what it is doing."""

    def __init__(self, work: Work[T, R], method: str = "spawn") -> None:
        context = multiprocessing.get_context(method)
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(work, theirs), daemon=True)
        self.process.start()
        theirs.close()

    def ask(self, task: T, timeout: float) -> R | Died:
        self.begin(task, timeout)
        while self.connection.poll(max(0.0, self.deadline - time.monotonic())):
            if (answer := self.hear(timeout)) is not None:
                return answer
        return self.overdue(timeout)

    def begin(self, task: T, timeout: float) -> None:
        self.task = task
        self.stage = "start"
        self.deadline = time.monotonic() + timeout
        self._send(task)

    def hear(self, timeout: float) -> R | Died | None:
        """The result, if the subprocess has it or ended."""
        try:
            kind, payload = self.connection.recv()
        except (EOFError, OSError):
            self.process.join(timeout=5)
            return Died(f"the process ended with status {self.process.exitcode}", self.stage)
        if kind == "result":
            result: R = payload
            return result
        self.stage = payload
        self.deadline = time.monotonic() + timeout
        return None

    def overdue(self, timeout: float) -> Died:
        return Died(f"no answer within {timeout:.0f} s", self.stage)

    def stop(self) -> None:
        self._send(STOP)
        self.process.join(timeout=5)
        self.kill()

    def kill(self) -> None:
        self.process.kill()
        self.process.join()
        self.connection.close()

    def _send(self, task: T | None) -> None:
        try:
            self.connection.send(task)
        except OSError:
            pass  # it ended, and `hear` says how


def serve(work: Work[T, R], connection: Connection) -> None:
    """The subprocess: what libraries print would only disturb, so it is dropped."""
    warnings.simplefilter("ignore")
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    while (task := connection.recv()) is not STOP:
        connection.send(("result", work(task, lambda stage: connection.send(("stage", stage)))))
