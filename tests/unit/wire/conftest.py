"""An event loop whose turns are taken by hand."""

import pytest


class _Loop:
    def __init__(self):
        self.soon = []

    def call_soon(self, call):
        self.soon.append(call)

    def turn(self):
        """Run what is due; tell whether that asked for another turn."""
        calls, self.soon = self.soon, []
        for call in calls:
            call()
        return bool(self.soon)


@pytest.fixture
def loop():
    return _Loop()
