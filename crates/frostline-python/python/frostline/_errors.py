"""Exceptions: each has the place, what was found and expected, and what to do next."""

from __future__ import annotations

from typing import Optional


class FrostlineError(Exception):
    """An error with its place (file, line, column, if they are known) and an advice."""

    def __init__(
        self,
        message: str,
        advice: str = "",
        file: Optional[str] = None,
        line: Optional[int] = None,
        column: Optional[int] = None,
    ) -> None:
        super().__init__(message, advice, file, line, column)
        self.message = message
        self.advice = advice
        self.file = file
        self.line = line
        self.column = column

    def __str__(self) -> str:
        place = [str(part) for part in (self.file, self.line, self.column) if part is not None]
        text = f"{self.message}; {self.advice}" if self.advice else self.message
        return f"{':'.join(place)}: {text}" if place else text


class DataError(FrostlineError, ValueError):
    """A file that is not what it should be."""


class SettingError(FrostlineError, ValueError):
    """An argument that cannot be used."""


class PolicyError(FrostlineError, ValueError):
    """A policy that does not exist, or that a model cannot have."""


class ProgramError(FrostlineError, RuntimeError):
    """The program `frostline` is missing, or it ended with an error."""
