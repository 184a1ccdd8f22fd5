"""Users, groups, roles, access keys and policies: their records, their store, their secrets."""
