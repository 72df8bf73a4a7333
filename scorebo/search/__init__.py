"""Search in a box: boxes, starting points and bounded ascent; used by acquisition functions and tasks."""
