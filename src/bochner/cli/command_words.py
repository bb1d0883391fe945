"""Messages of the library in the words of a command: arguments become its options.

A message of the library names an argument as one writes it in Python, ``missing='own'``. This is
the only place that knows what it is called on the command line.
"""

from __future__ import annotations

import ast
import re
import shlex
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import typer

import bochner
from bochner.cli.names import ESTIMATORS, METHODS

if TYPE_CHECKING:
    from bochner.component import Component

NAMES = {
    "max_seconds": "--time",
    "memory_budget": "--memory",
    "memory": "--memory",
    "n_jobs": "--threads",
    "random_state": "--seed",
}
WORDS = {"True": "yes", "False": "no", "None": "none"}  # of options with a fixed set of values
START = r"(?<![\w.'\"=/-])"
ARGUMENT = re.compile(START + r"([a-z]\w*)=(?!=)")
MADE = re.compile(r"(?:,|\b(?:[Gg]ive|[Tt]ake|[Uu]se|with|or|as)) ([A-Z]\w+)\(")
SHOWN = re.compile(r"(?:\bgot|:) ([A-Z]\w*)\(")  # a component that was given, not an advice
BARE = re.compile(START + r"([a-z]+(?:_[a-z]+)+)\b(?![\w(='\"/]|\.\w)")
BRACKETS = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True)
class CommandWords:
    """The options of the running command, and those of `bochner fit`, which made its model."""

    options: frozenset[str]
    of_fit: frozenset[str]

    @classmethod
    def running(cls, context: typer.Context | None) -> CommandWords:
        """Return the words of the running command; without one there are no options."""
        if context is None or context.invoked_subcommand is None:
            return cls(frozenset(), frozenset())
        commands: Any = context.command
        running, fit = (commands.commands[name] for name in (context.invoked_subcommand, "fit"))
        return cls(options_of(running), options_of(fit))

    def translate(self, text: str) -> str:
        """Return a message with its arguments as options.

        An argument that only `bochner fit` has becomes that command.

        >>> words = CommandWords(frozenset({"--drop", "--set"}), frozenset({"--missing"}))
        >>> words.translate("Give drop=['a b', 'c'], missing='own', or a smaller max_passes.")
        "Give --drop 'a b,c', `bochner fit --missing own`, or a smaller --set max_passes."
        """
        parts, end = [], 0
        shown = [range(at, at + len(_expression(text, at))) for at in _places(SHOWN, text)]
        found = (*ARGUMENT.finditer(text), *MADE.finditer(text))
        for start, name in sorted((one.start(1), one[1]) for one in found):
            if any(start in one for one in shown):
                continue
            argument = _expression(text, start)
            option = self._option(name, argument) if start >= end else None
            if option is not None:
                parts += [text[end:start], option]
                end = start + len(argument)
        return BARE.sub(self._bare, "".join([*parts, text[end:]]))

    def _option(self, name: str, argument: str) -> str | None:
        """Return an argument `name=value`, or a component `Name(...)`, as an option."""
        if argument.startswith(f"{name}="):
            return self._argument(name, argument.removeprefix(f"{name}="))
        families = families_of(name)
        return self._argument(families[0], argument) if len(families) == 1 else None

    def _argument(self, name: str, text: str) -> str | None:
        if not text:
            return self._named(name, None)
        try:
            value = ast.parse(text, mode="eval").body
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            return None
        made = _component(name, value)
        if made is None:
            return self._named(name, _plain(value))
        inner = {f"{name}__{key}": number for key, number in made[1].items()}
        return self._named(name, made[0], inner)

    def _bare(self, found: re.Match[str]) -> str:
        known = found[1] in self._parameters
        return (self._named(found[1], None) if known else None) or found[1]

    def _named(
        self, name: str, value: str | None, inner: dict[str, str] | None = None
    ) -> str | None:
        """Return an option with its value; `inner` are parameters of a component."""
        option = NAMES.get(name, f"--{name.replace('_', '-')}")
        if name == "solver" and option not in self.options and "--methods" in self.options:
            return f"--methods {value}" if value in METHODS else "--methods"
        settings = "".join(f" {_set(key, number)}" for key, number in (inner or {}).items())
        if option in self.options or (option in self.of_fit and name not in self._settable):
            chosen = "" if value is None else f" {shlex.quote(WORDS.get(value, value))}"
            words = f"{option}{chosen}{settings}"
            return words if option in self.options else f"`bochner fit {words}`"
        whole = self._whole_name(name)
        if whole is None:
            return None
        words = f"{_set(whole, value)}{settings}"
        return words if "--set" in self.options else f"`bochner fit {words}`"

    def _whole_name(self, name: str) -> str | None:
        """Return the name of a parameter for --set: that of a component is `outer__inner`."""
        if name in self._parameters:
            return name
        outer = [family for family, inner in inner_parameters().items() if name in inner]
        return f"{outer[0]}__{name}" if len(outer) == 1 else None

    @property
    def _settable(self) -> frozenset[str]:
        """The parameters that the command's own --set takes."""
        return self._parameters if "--set" in self.options else frozenset()

    @cached_property
    def _parameters(self) -> frozenset[str]:
        """The parameters of all estimators that the commands make."""
        kinds = (getattr(bochner, name)() for name in ESTIMATORS.values())
        return frozenset(name for kind in kinds for name in kind.get_params(deep=False))


def options_of(command: Any) -> frozenset[str]:
    """Return the long names of the options of a command."""
    return frozenset(name for parameter in command.params for name in parameter.opts)


def families_of(component: str) -> list[str]:
    """Return the parameters that take a component of this class: "kernel" for Gaussian."""
    families = bochner.KernelRegressor.families.items()
    return [name for name, family in families if component in _classes(family)]


@lru_cache
def inner_parameters() -> dict[str, frozenset[str]]:
    """Return the parameters of the components that each parameter takes."""
    families = bochner.KernelRegressor.families.items()
    return {
        name: frozenset(field.name for kind in _classes(family).values() for field in fields(kind))
        for name, family in families
    }


def _classes(family: type[Component]) -> dict[str, type]:
    """Return the registered classes of a family by their names."""
    kinds = [factory for factory in family.registry.values() if isinstance(factory, type)]
    return {kind.__name__: kind for kind in kinds if is_dataclass(kind)}


def _places(pattern: re.Pattern[str], text: str) -> list[int]:
    return [found.start(1) for found in pattern.finditer(text)]


def _expression(text: str, start: int) -> str:
    """Return the Python expression that begins here: to a blank or comma outside brackets."""
    end, closing, quote = start, "", ""
    while end < len(text):
        sign = text[end]
        if quote:
            end += sign == "\\"
            quote = "" if sign == quote else quote
        elif sign in "'\"":
            quote = sign
        elif sign in BRACKETS:
            closing = BRACKETS[sign] + closing
        elif closing and sign == closing[0]:
            closing = closing[1:]
        elif not closing and sign in " ,;:)]}":
            break
        end += 1
    return text[start:end].rstrip(".")


def _component(name: str, value: ast.expr) -> tuple[str, dict[str, str]] | None:
    """Return the registered name and the arguments of a component, `Centers(1000)`."""
    family = bochner.KernelRegressor.families.get(name)
    if family is None or not isinstance(value, ast.Call) or not isinstance(value.func, ast.Name):
        return None
    kind = _classes(family).get(value.func.id)
    if kind is None:
        return None
    given = dict(zip([f.name for f in fields(kind)], map(_plain, value.args), strict=False))
    known = next(key for key, factory in family.registry.items() if factory is kind)
    return known, given | {str(one.arg): _plain(one.value) for one in value.keywords}


def _plain(value: ast.expr) -> str:
    """Return an expression as the value of an option: lists of names are separated by commas."""
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return value.value
    if isinstance(value, ast.List):
        return ",".join(f'"{one}"' if "," in one else one for one in map(_plain, value.elts))
    return ast.unparse(value)


def _set(name: str, value: str | None) -> str:
    return f"--set {name}" if value is None else f"--set {shlex.quote(f'{name}={value}')}"
