"""The command that was meant by one that the parser cannot take."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence

from scorebo.config.choices import GROUPS
from scorebo.config.overrides import parse
from scorebo.config.schema import TOP_LEVEL
from scorebo.errors import InputError


def check_settings(arguments: Sequence[str], unknown: Collection[str]) -> None:
    """Refuse `--NAME VALUE` for a setting, and several values for one run, with the command to give instead.

    Args:
        arguments: the name of the command, then its arguments.
        unknown: those of them that are not options of the command.
    """
    command, *rest = arguments
    meant = _as_settings(rest, unknown)
    several = [argument for argument in meant if _has_several_values(argument)] if command == "run" else []
    if several:
        command, meant = "sweep", [argument for argument in meant if argument != "--quiet"]
    if several or meant != rest:
        why = f"{several[0]} means several runs" if several else "A setting is given as NAME=VALUE"
        raise InputError(f"{why}: `{shlex.join(['scorebo', command, *meant])}`.")


def _as_settings(arguments: Sequence[str], unknown: Collection[str]) -> list[str]:
    """The arguments with `NAME=VALUE` in place of `--NAME VALUE` and `--NAME=VALUE`, where NAME is a setting."""
    meant: list[str] = []
    waiting = False  # for the value of the setting that came last
    for argument in arguments:
        option, equals, value = argument.partition("=")
        name = option.removeprefix("--").replace("-", "_")
        is_setting = name in GROUPS or name.partition(".")[0] in TOP_LEVEL
        if waiting and not argument.startswith("-") and not equals:
            meant[-1] = f"{meant[-1].partition('=')[0]}={argument}"
            waiting = False
        elif option.startswith("--") and argument in unknown and is_setting:
            meant.append(f"{name}={value or 'VALUE'}")
            waiting = not equals
        else:
            meant.append(argument)
            waiting = False
    return meant


def _has_several_values(argument: str) -> bool:
    if argument.startswith("-") or "=" not in argument:
        return False
    try:
        return parse([argument])[0].is_sweep_override()
    except InputError:
        return False  # the command itself says what is wrong with it
