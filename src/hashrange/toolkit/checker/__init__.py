"""Holds designs, code and policies to the design standards.

`check.check_design` applies the rules of `rulebook` and honours waivers; `text_output`,
`json_output` and `sarif_output` write the result down; `policy` derives the least-privilege policy
of a design.
"""
