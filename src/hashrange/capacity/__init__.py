"""How DynamoDB throttles: a pure model of capacity, with the clock passed in.

The server enforces it and the toolkit simulates with it; it imports nothing of either.
"""
