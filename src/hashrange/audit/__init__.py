"""The audit trail: who did what, in the shape of CloudTrail's records."""
