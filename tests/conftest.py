"""What holds for all tests."""

from hypothesis import settings

# How long an example takes says more about what else the machine is doing than about the code.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")
