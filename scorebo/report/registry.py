"""Figures and claims by name: the project's, those of installed packages, and by path those of any module."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import Protocol, TypeVar

from scorebo.errors import InputError, check_choice, reason_of


class _Named(Protocol):
    @property
    def id(self) -> str: ...


Item = TypeVar("Item", bound=_Named)


class Registry(Mapping[str, Item]):
    """The figures, or the claims, by id.

    Besides its `own`, it holds those of installed packages, announced by an entry point in the group `scorebo.figures`
    (`scorebo.claims`) that has the id for its name. These are imported when they are asked for, not when they are
    listed. Any other is found by its path, `module:name`.
    """

    def __init__(self, kind: type[Item], own: Iterable[Item]) -> None:
        self._kind, self._own = kind, {item.id: item for item in own}
        self._what = kind.__name__.lower()

    def __getitem__(self, name: str) -> Item:
        if name in self._own:
            return self._own[name]
        if ":" in name:
            if os.getcwd() not in sys.path:  # where the module may lie, as with `python -m`
                sys.path.append(os.getcwd())
            return self._load(EntryPoint(name, name, ""))
        item = self._load(self._announced[check_choice(self._what, name, self)])
        if item.id != name:
            raise InputError(f"The entry point '{name}' of scorebo.{self._what}s names the {self._what} '{item.id}'.")
        return item

    def __iter__(self) -> Iterator[str]:
        return iter([*self._own, *self._announced])

    def __len__(self) -> int:
        return len(self._own) + len(self._announced)

    def __contains__(self, name: object) -> bool:
        return name in self._own or name in self._announced

    @cached_property
    def _announced(self) -> dict[str, EntryPoint]:
        found: dict[str, EntryPoint] = {}
        for entry in sorted(entry_points(group=f"scorebo.{self._what}s"), key=lambda entry: entry.name):
            if entry.name in self._own or entry.name in found:
                raise InputError(f"There are two {self._what}s '{entry.name}', one of them {entry.value}.")
            found[entry.name] = entry
        return found

    def _load(self, entry: EntryPoint) -> Item:
        try:
            item = entry.load()
        except Exception as error:  # whatever a module of others may raise
            raise InputError(f"Cannot load the {self._what} {entry.value}: {reason_of(error)}.") from error
        if not isinstance(item, self._kind):
            raise InputError(f"{entry.value} must be a scorebo.report.{self._kind.__name__}, got {item!r}.")
        return item
