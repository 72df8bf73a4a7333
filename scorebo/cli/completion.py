"""The command `completion`: scripts for shells, which ask the command itself what may stand where the cursor is."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from scorebo.errors import InputError, check_choice

if TYPE_CHECKING:
    from scorebo.cli.command import Add

EXAMPLES = """examples:
  scorebo completion bash >> ~/.bashrc
  scorebo completion zsh > ~/.zfunc/_scorebo        with fpath+=~/.zfunc before compinit in ~/.zshrc
  scorebo completion fish > ~/.config/fish/completions/scorebo.fish

For the present shell alone: source <(scorebo completion bash). Commands, options, figures and the names of configs are
completed, those of a --config-dir that was already typed included."""

BASH = """\
_scorebo() {
    # Not COMP_WORDS: bash splits them at `=`.
    local line="${COMP_LINE:0:COMP_POINT}" words last kept="" IFS=$' \\t\\n'
    read -ra words <<< "$line"
    [[ $line == *[[:space:]] ]] && words+=("")
    last="${words[${#words[@]}-1]}"
    IFS=$'\\n'
    COMPREPLY=($("${words[0]/#\\~/$HOME}" completion bash "${words[@]:1}" 2>/dev/null))
    # Readline replaces what follows the last `=` only.
    [[ $COMP_WORDBREAKS == *=* && $last == *=* ]] && kept="${last%%=*}="
    COMPREPLY=("${COMPREPLY[@]#"$kept"}")
    [[ ${COMPREPLY[0]} == *= ]] && type compopt &>/dev/null && compopt -o nospace
    return 0
}
complete -o default -F _scorebo scorebo
"""
ZSH = """\
#compdef scorebo
_scorebo() {
    local -a found
    found=(${(f)"$(${~words[1]} completion zsh "${(@)words[2,CURRENT-1]}" "$PREFIX" 2>/dev/null)"})
    if (( $#found )); then
        compadd -S '' -- ${(M)found:#*=}
        compadd -- ${found:#*=}
    else
        compset -P '*='
        _files
    fi
}
if [[ ${funcstack[1]} == _scorebo ]]; then
    _scorebo "$@"
else
    (( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
    compdef _scorebo scorebo
fi
"""
FISH = """\
function __scorebo_candidates
    set -l words (commandline -opc)
    set -l last (commandline -ct)
    set -l found ($words[1] completion fish $words[2..-1] "$last" 2>/dev/null)
    if set -q found[1]
        printf '%s\\n' $found
    else
        set -l setting (string match -r '^[^=]*=' -- "$last")
        printf '%s\\n' "$setting"(__fish_complete_path (string replace -- "$setting" '' "$last"))
    end
end
complete -c scorebo -f -a '(__scorebo_candidates)'
"""
SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}


def add_command(add: Add, parser: argparse.ArgumentParser) -> None:
    """Add the command to `parser`, all of whose commands it completes."""
    text = "Print a script that completes commands, options and config names."
    completion = add("completion", text, EXAMPLES, lambda options: _completion(options, parser))
    completion.add_argument("shell", metavar="SHELL", help="bash, zsh or fish")
    # What the scripts ask with: all words after `scorebo`, the last of them unfinished.
    completion.add_argument("words", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)


def _completion(options: argparse.Namespace, parser: argparse.ArgumentParser) -> None:
    script = SCRIPTS[check_choice("shell", options.shell, SCRIPTS)]
    if not options.words:
        print(script, end="")
    for candidate in candidates(parser, options.words) if options.words else ():
        print(candidate)


def candidates(parser: argparse.ArgumentParser, words: Sequence[str]) -> list[str]:
    """What may stand in place of the last of `words`; empty where files may, which the shell completes by itself."""
    *before, last = words
    commands = _commands(parser)
    if not before:
        found: Iterable[str] = _options(parser) if last.startswith("-") else commands
    elif before[0] not in commands:
        return []
    elif _commands(commands[before[0]]):  # such as `archive create`
        return candidates(commands[before[0]], words[1:])
    else:
        try:
            found = _arguments(commands[before[0]], before, last)
        except InputError:  # such as a --config-dir that is not there
            return []
    return sorted(candidate for candidate in found if candidate.startswith(last))


def _commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    found = (action.choices for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    return dict(next(found, {}))


def _options(parser: argparse.ArgumentParser) -> dict[str, argparse.Action]:
    return {text: action for action in parser._actions for text in action.option_strings if text.startswith("--")}


def _arguments(parser: argparse.ArgumentParser, before: Sequence[str], last: str) -> Iterable[str]:
    options = _options(parser)
    config_dir, positionals, option = None, 0, None
    for word in before[1:]:
        if option is not None:  # the word is its value
            config_dir = Path(word) if option.dest == "config_dir" else config_dir
            option = None
        elif word.startswith("-"):
            option = options.get(word)
            option = None if option is None or option.nargs == 0 else option
        else:
            positionals += 1
    if option is not None:
        return _values(option.dest, config_dir)
    if last.startswith("-"):
        return options
    places = [action for action in parser._actions if not action.option_strings]
    if not places or (positionals >= len(places) and places[-1].nargs not in ("*", "+")):
        return []
    place = places[min(positionals, len(places) - 1)].dest
    return _settings(before[0], last, config_dir) if place == "overrides" else _values(place, config_dir)


def _settings(command: str, last: str, config_dir: Path | None) -> Iterable[str]:
    """`NAME=` without a `=`, then the values of NAME, of a list the last."""
    from scorebo.config.choices import GROUPS
    from scorebo.config.schema import TOP_LEVEL

    name, equals, value = last.partition("=")
    if not equals:
        unused = {"run": ("launcher", "workers"), "retry": {*GROUPS, *TOP_LEVEL} - {"workers"}}.get(command, ())
        return [f"{name}=" for name in dict.fromkeys([*GROUPS, *TOP_LEVEL]) if name not in unused]
    chosen = value[: value.rfind(",") + 1]
    return [f"{name}={chosen}{choice}" for choice in _values(name, config_dir)]


def _values(what: str, config_dir: Path | None) -> Iterable[str]:
    """What an argument, option or setting of this name may be; nothing if that cannot be listed."""
    from scorebo.config.choices import GROUPS, available
    from scorebo.config.scale import SCALES

    group = "acquisition" if what == "baseline" else what
    if group in GROUPS:
        return available(group, config_dir)
    if what == "figure":
        from scorebo.report import FIGURES

        return FIGURES
    if what == "metric":
        from scorebo.store.schema import METRICS

        return METRICS
    if what == "names":
        from scorebo.data.sources import datasets

        return datasets()
    from scorebo.cli import LISTED

    lists = {
        "scale": SCALES,
        "kind": ("full", "summary"),
        "shell": SCRIPTS,
        "what": LISTED,
        "action": ("list", "check", "fetch"),
    }
    return lists.get(what, ())
