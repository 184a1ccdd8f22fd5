"""The design model: what a design declares, as immutable data.

Start at `model.Design`. `tables`, `entities`, `patterns` and `expectations` hold its parts,
`templates` the key templates, `documents` the TOML and YAML form, `provisioning` CreateTable
documents.
"""
