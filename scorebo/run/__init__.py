"""One run: the loop, its metrics and regrets, replay of stored iterations, progress."""
