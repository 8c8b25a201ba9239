"""A task that takes its process down fails alone."""

from __future__ import annotations

import os
import time
import unittest
from collections.abc import Callable

from judge import pool


def work(task: str, stage: Callable[[str], None]) -> str:
    stage(f"working on {task}")
    if task == "abort":
        os.abort()
    if task == "hang":
        time.sleep(600)
    return task.upper()


class PoolTest(unittest.TestCase):
    def test_the_others_go_on(self) -> None:
        tasks = ["a", "abort", "b", "hang", "c"]
        results = {done.task: done.result for done in pool.run(work, tasks, 2, 2.0)}
        self.assertEqual({task: results[task] for task in "abc"}, {"a": "A", "b": "B", "c": "C"})
        aborted, hung = results["abort"], results["hang"]
        assert isinstance(aborted, pool.Died)
        assert isinstance(hung, pool.Died)
        self.assertEqual((aborted.why, aborted.stage), ("the process ended with status -6", "working on abort"))
        self.assertEqual((hung.why, hung.stage), ("no answer within 2 s", "working on hang"))


if __name__ == "__main__":
    unittest.main()
