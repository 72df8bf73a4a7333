"""Outside code behind a wall: a child process evaluates it, with limits on time and memory."""
