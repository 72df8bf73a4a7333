"""What runs in the child processes of `benchmarks.outside`: functions that read data and return a function."""
