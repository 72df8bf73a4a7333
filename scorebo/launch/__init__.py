"""Many runs: a sweep is frozen, handed to a launcher (processes here, or SLURM), and looked after until it is done."""
