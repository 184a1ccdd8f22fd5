"""What a design consumes and what it costs: capacity units per call, traffic, prices, plans."""
