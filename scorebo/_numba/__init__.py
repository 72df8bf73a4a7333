"""Compiled code: its cache on disk, and vectorized elementary functions."""
