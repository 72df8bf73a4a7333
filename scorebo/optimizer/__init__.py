"""Optimization of a user's own function: ask, tell, and a loop around them."""
