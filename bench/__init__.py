"""The benchmark: Hashrange and its peers, measured side by side on this machine."""
