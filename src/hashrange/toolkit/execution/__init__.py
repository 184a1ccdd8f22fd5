"""Carries out the access patterns of a design, as plans: `executor` is the way in."""
