"""The toolkit, against an in-process Hashrange."""
