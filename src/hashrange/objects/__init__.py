"""Object stores: where exports, imports and backups keep their files."""
