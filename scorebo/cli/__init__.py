"""The `scorebo` command, one module a group of commands: parse, call, print."""

from scorebo.cli.command import LISTED, build_parser, main

__all__ = ["LISTED", "build_parser", "main"]
