"""Screen: the output of a command, notes on standard error, the result on standard output."""

from __future__ import annotations

import json
import logging
import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

RUNNING: ContextVar[typer.Context | None] = ContextVar("running", default=None)
FAILED = 1
INTERRUPTED = 130  # what a shell reports for a program that Ctrl-C ended
EXIT_CODES = """Exit codes: 0 done, 1 an error in data, model or files, 2 wrong usage,
130 interrupted (what was learned is in the checkpoint)."""


class Screen:
    """Writes notes and progress to standard error, the result to standard output.

    Parameters
    ----------
    as_json : bool
        Whether the result, or the error, is one JSON object instead of lines of text.
    quiet : bool
        Whether to print nothing but errors and the JSON result.
    """

    def __init__(self, as_json: bool, quiet: bool) -> None:
        self.as_json = as_json
        self.quiet = quiet
        self.notes: list[str] = []

    @property
    def console(self) -> Console:
        """The console of notes and progress."""
        from rich.console import Console

        return Console(stderr=True, quiet=self.quiet, highlight=False, soft_wrap=True, markup=False)

    def note(self, text: str) -> None:
        """Print a note."""
        self.notes.append(text)
        self.console.print(text)

    def result(self, record: dict[str, Any], lines: list[str]) -> None:
        """Print the result: the record as JSON, or the lines."""
        if self.as_json:
            notes = {"notes": self.notes} if self.notes else {}
            typer.echo(json.dumps(plain(record | notes), ensure_ascii=False))
        elif not self.quiet:
            for line in lines:
                typer.echo(line)

    def require_one_output(self, out: str) -> None:
        """Raise if rows and a JSON record would both go to standard output."""
        if self.as_json and out == "-":
            raise ValueError("--json and - both use standard output: give a file name, not -.")

    def error(self, text: str, code: int = FAILED) -> typer.Exit:
        """Print an error and return the exception that ends the command."""
        if self.as_json:
            typer.echo(json.dumps({"error": text, "exit_code": code}, ensure_ascii=False))
        else:
            typer.echo(f"Error: {text}", err=True)
        return typer.Exit(code)

    @contextmanager
    def report_errors(self, out: object = None) -> Iterator[None]:
        """Print errors that users can fix, with an exit code, and warnings as notes at once.

        `out` is the file that the command writes only when it is complete, if there is one.
        """
        with warnings.catch_warnings(), self._log_as_notes():
            warnings.simplefilter("default")
            warnings.showwarning = self._note_once
            try:
                yield
            except BrokenPipeError:
                raise  # the reader of the output has ended; typer exits in silence
            except (ValueError, OSError, ImportError, ArithmeticError, MemoryError) as error:
                raise self.error(in_command_words(error)) from error
            except KeyboardInterrupt:
                lost = "" if out in (None, "-") else f"; {out} was not written"
                raise self.error(f"interrupted{lost}.", INTERRUPTED) from None

    @contextmanager
    def _log_as_notes(self) -> Iterator[None]:
        """Print what the library logs, such as a first compilation."""
        logger, handler = logging.getLogger("bochner"), NoteHandler(self)
        before = logger.level
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        try:
            yield
        finally:
            logger.removeHandler(handler)
            logger.setLevel(before)

    def _note_once(self, message: Warning | str, *others: Any, **more: Any) -> None:
        text = f"Note: {in_command_words(str(message))}"
        if text not in self.notes:
            self.note(text)


class NoteHandler(logging.Handler):
    """Prints log records as notes of a screen."""

    def __init__(self, screen: Screen) -> None:
        super().__init__(logging.INFO)
        self.screen = screen

    def emit(self, record: logging.LogRecord) -> None:
        """Print a record."""
        self.screen.note(record.getMessage())


def _sentence(error: BaseException) -> str:
    if isinstance(error, MemoryError) and not str(error):
        return "there is not enough memory. Give a smaller memory_budget, or fewer rows."
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror.rstrip('.')}."
    return getattr(error, "in_command", None) or str(error) or type(error).__name__


def in_command_words(error: BaseException | str) -> str:
    """Return a message with the options of the running command in place of arguments."""
    from bochner.cli.command_words import CommandWords

    words = CommandWords.running(RUNNING.get())
    return words.translate(error if isinstance(error, str) else _sentence(error))


def plain(value: Any) -> Any:
    """Return a value that JSON can hold; numbers that are not finite become None."""
    if isinstance(value, dict):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set):
        return [plain(inner) for inner in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    return str(value)
