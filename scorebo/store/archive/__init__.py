"""Archives: finished runs in one immutable Parquet file, which every reader of runs takes like their folders.

A row is a run. Its column `run` is a sealed line with its names, its id and a digest of everything else in the row. The
columns named like files hold those of its folder: all of them in a full archive; in a summary all but the records and
the checkpoint, in whose place there are the columns of `collect` that figures, claims and comparisons read, in single
precision. The end of the file says which format it has, and has digests of the rest of the file and of itself.
"""
