"""The data of the real tasks: where they are looked for, whether they are intact, and how to get them."""
