"""JSON documents on one line that carry their own checksum.

A sealed line is canonical JSON (ASCII, sorted keys, no spaces, floats by `repr`, so that they round-trip bit for bit)
with `"checksum"` put last: the first 16 hexadecimal digits of the SHA-256 of the canonical JSON of all the rest. It can
be checked from the bytes alone, without writing the JSON again.

JSON has no NaN and no infinities. They are written as null and named in `"non_finite"`, a map from their JSON pointer
to "nan", "inf" or "-inf": any JSON reader gets a missing value, `unseal` gets the number back.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any

import orjson

_DIGITS = 16
_HEAD = b',"checksum":"'
_TAIL_LENGTH = len(_HEAD) + _DIGITS + len(b'"}')
_RESERVED = ("checksum", "non_finite")


def canonical_json(value: Any) -> str:
    """The one JSON text of a value made of plain containers, strings, numbers, booleans and None."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def seal(document: Mapping[str, Any]) -> bytes:
    """The line, with its newline, that `unseal` reads back to an equal document (tuples come back as lists)."""
    for key in _RESERVED:
        if key in document:
            raise ValueError(f"A stored document may not have a field of its own named '{key}'.")
    non_finite: dict[str, str] = {}
    plain = _plain(document, "", non_finite)
    if not plain:
        raise ValueError("An empty document cannot be stored.")
    if non_finite:
        plain["non_finite"] = non_finite
    text = canonical_json(plain).encode()
    return text[:-1] + _HEAD + _digest(text) + b'"}\n'


def unseal(line: bytes) -> dict[str, Any]:
    """The document of a line (without its newline); `ValueError` says why it is not as it was written."""
    text = line[:-_TAIL_LENGTH] + b"}"
    tail = line[-_TAIL_LENGTH:]
    if len(line) <= _TAIL_LENGTH or not tail.startswith(_HEAD) or not tail.endswith(b'"}'):
        raise ValueError("does not end in a checksum")
    if tail[len(_HEAD) : -2] != _digest(text):
        raise ValueError("does not match its checksum")
    try:
        document = _parse(text)
    except (ValueError, RecursionError) as error:
        raise ValueError("is not JSON") from error
    if not isinstance(document, dict):
        raise ValueError("is not a JSON object")
    for pointer, name in document.pop("non_finite", {}).items():
        _restore(document, pointer, float(name))
    return document


def _parse(text: bytes) -> Any:
    try:
        return orjson.loads(text)
    except ValueError:
        return json.loads(text)  # half of a surrogate pair, as file names can have it, is JSON but not Unicode


def _digest(text: bytes) -> bytes:
    return hashlib.sha256(text).hexdigest()[:_DIGITS].encode()


def _plain(value: Any, pointer: str, non_finite: dict[str, str]) -> Any:
    """A copy in plain containers, non-finite floats replaced by None and noted under their pointer."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        if not -(2**63) <= value < 2**63:  # readers of JSON make floats of larger ones
            raise TypeError(f"An integer of more than 64 bits cannot be stored (at '{pointer}').")
        return value
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        non_finite[pointer] = repr(float(value))
        return None
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"Stored keys must be text, got {key!r} at '{pointer}'.")
        return {key: _plain(item, f"{pointer}/{_escape(key)}", non_finite) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, f"{pointer}/{i}", non_finite) for i, item in enumerate(value)]
    raise TypeError(f"A {type(value).__name__} cannot be stored (at '{pointer}').")


def _restore(document: Any, pointer: str, number: float) -> None:
    *parents, last = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
    for part in parents:
        document = document[int(part) if isinstance(document, list) else part]
    document[int(last) if isinstance(document, list) else last] = number


def _escape(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
