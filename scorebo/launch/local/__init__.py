"""Runs of a sweep on this machine: a pool of workers, forked from a process that has loaded the libraries."""
