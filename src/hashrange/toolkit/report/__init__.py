"""A design as one page: key layout, patterns and indexes, item collections, heat, costs, findings.

`facts` gathers what there is to show; `page` writes HTML without any outside resource, `markdown`
the same as text.
"""
