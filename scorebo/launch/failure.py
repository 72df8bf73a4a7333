"""How an error is printed in the log of a run: whole, and then, at the end of the log, the user's own part of it."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator
from types import FrameType


def print_failure(error: BaseException) -> None:
    """Print the whole traceback, and last the user's exception with the frames outside this package.

    `scorebo status` shows the last lines of a log.
    """
    traceback.print_exception(error)
    own = _users_error(error)
    frames = traceback.StackSummary.extract((frame, line) for frame, line in _walk(own) if not _is_ours(frame))
    head = ["Traceback (most recent call last), without the frames of scorebo:\n"] if frames else []
    print(
        "", "".join([*head, *frames.format(), *traceback.format_exception_only(own)]), sep="\n", end="", file=sys.stderr
    )


def _users_error(error: BaseException) -> BaseException:
    """The last of an error's causes that was raised outside this package; if there is none, the first cause."""
    causes = [error]
    while cause := causes[-1].__cause__ or (None if causes[-1].__suppress_context__ else causes[-1].__context__):
        causes.append(cause)
    return next((cause for cause in causes if _raised_outside(cause)), causes[-1])


def _raised_outside(error: BaseException) -> bool:
    frames = [frame for frame, _ in _walk(error)]
    return bool(frames) and not _is_ours(frames[-1])


def _walk(error: BaseException) -> Iterator[tuple[FrameType, int]]:
    return traceback.walk_tb(error.__traceback__)


def _is_ours(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__")).partition(".")[0] == "scorebo"
