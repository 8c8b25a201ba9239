"""Work on many cases in subprocesses, so that a case which kills its process fails alone."""

from __future__ import annotations

import multiprocessing
import os
import queue
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Generic, TypeVar

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
    todo: queue.SimpleQueue[T] = queue.SimpleQueue()
    for task in tasks:
        todo.put(task)
    done: queue.SimpleQueue[Done[T, R]] = queue.SimpleQueue()
    for _ in range(max(1, min(n_workers, len(tasks)))):
        threading.Thread(target=drive, args=(work, todo, done, timeout), daemon=True).start()
    for _ in tasks:
        yield done.get()


def drive(work: Work[T, R], todo: queue.SimpleQueue[T], done: queue.SimpleQueue[Done[T, R]], timeout: float) -> None:
    """Feeds one subprocess until there is nothing to do, and replaces it when it dies."""
    worker = Worker(work)
    while True:
        try:
            task = todo.get_nowait()
        except queue.Empty:
            break
        result = worker.ask(task, timeout)
        done.put(Done(task, result))
        if isinstance(result, Died):
            worker.stop()
            worker = Worker(work)
    worker.stop()


class Worker:
    """One subprocess and the pipe to it."""

    def __init__(self, work: Work[T, R]) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(work, theirs), daemon=True)
        self.process.start()
        theirs.close()

    def ask(self, task: object, timeout: float) -> Any:
        stage = "start"
        try:
            self.connection.send(task)
            while self.connection.poll(timeout):
                kind, payload = self.connection.recv()
                if kind == "result":
                    return payload
                stage = payload
        except (EOFError, OSError):
            self.process.join(timeout=5)
            return Died(f"the process ended with status {self.process.exitcode}", stage)
        return Died(f"no answer within {timeout:.0f} s", stage)

    def stop(self) -> None:
        self.connection.close()
        self.process.join(timeout=5)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


def serve(work: Work[T, R], connection: Connection) -> None:
    """The subprocess: what libraries print would only disturb, so it is dropped."""
    warnings.simplefilter("ignore")
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    while True:
        try:
            task = connection.recv()
        except EOFError:
            return
        connection.send(("result", work(task, lambda stage: connection.send(("stage", stage)))))
