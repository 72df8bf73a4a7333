"""Transforms between a task's units and the model's: unit box, standardization, Yeo-Johnson."""
