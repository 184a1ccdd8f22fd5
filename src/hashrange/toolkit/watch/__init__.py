"""Ties live traffic to the declared patterns of a design.

Traffic comes from a trace, which `recorder` writes from any boto3 client, or from CloudWatch and
Contributor Insights. `matching` finds the pattern behind a request, `analysis` adds up.
"""
