"""Runs of a sweep as jobs of a SLURM cluster, through submitit."""
