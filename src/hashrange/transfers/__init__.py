"""Exports, imports and bulk puts: the kinds of jobs that move items between tables and objects."""
