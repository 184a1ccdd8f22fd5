"""Exports, imports and bulk operations: requests that start jobs, and describe and list them."""
