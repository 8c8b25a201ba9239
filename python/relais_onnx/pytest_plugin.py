"""A plugin for pytest: the fixture `check_pass` tests a pass, with the seed and the number of modules of the command line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from .testing import Checked, check


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("relais")
    group.addoption("--relais-modules", type=int, default=64, help="on how many random modules passes are tested (64)")
    group.addoption("--relais-seed", type=int, default=1, help="the seed of these modules (1)")


@pytest.fixture
def check_pass(request: pytest.FixtureRequest) -> Callable[..., Checked]:
    """Tests a pass, as `relais_onnx.testing.check`."""

    def run(pass_: Any, **options: Any) -> Checked:
        options.setdefault("modules", request.config.getoption("--relais-modules"))
        options.setdefault("seed", request.config.getoption("--relais-seed"))
        return check(pass_, **options)

    return run
