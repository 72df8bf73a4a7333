"""What runs in the child processes of `scorebo.benchmarks.outside`: functions that read data and return a function."""
