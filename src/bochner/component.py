"""A component is a record of hyperparameters that is found by its name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields
from typing import Any, ClassVar, Self

from sklearn.base import clone


class Component:
    """A dataclass that scikit-learn can read, set, clone and search.

    The first class below `Component` opens a *family* (kernels, losses, solvers, ...). Every
    concrete class of the family registers itself under its own name, and a family turns what a
    user gave, a name or a component, into a component:

    >>> from bochner.kernels import Kernel
    >>> Kernel.resolve("gaussian")
    Gaussian(bandwidth='median', multiplier=...)
    """

    family: ClassVar[str]
    registry: ClassVar[dict[str, Callable[[], Any]]]

    def __init_subclass__(cls, family: str | None = None, name: str | None = None) -> None:
        super().__init_subclass__()
        if family is not None:
            cls.family, cls.registry = family, {}
        if name is not None:
            cls.registry[name] = cls

    @classmethod
    def register(cls, name: str, recipe: Callable[[], Any]) -> None:
        """Give a configured component a name of its own."""
        cls.registry[name] = recipe

    @classmethod
    def resolve(cls, given: Any) -> Self:
        """Return a fresh component: the named one with its defaults, or a copy of the given one."""
        if isinstance(given, cls):
            return clone(given)  # type: ignore[no-any-return]
        if isinstance(given, str) and given in cls.registry:
            return cls.registry[given]()  # type: ignore[no-any-return]
        names = ", ".join(repr(name) for name in sorted(cls.registry))
        package = ".".join(cls.__module__.split(".")[:2])
        raise ValueError(
            f"{cls.family} must be one of {names} or a component of {package}; got {given!r}"
            f"{_from(given)}."
        )

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the hyperparameters, those of nested components as `outer__inner`."""
        params: dict[str, Any] = {}
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            params[field.name] = value
            if deep and isinstance(value, Component):
                params |= {f"{field.name}__{k}": v for k, v in value.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set hyperparameters by the names that `get_params` gives."""
        known = self.get_params(deep=False)
        for key, value in params.items():
            name, _, inner = key.partition("__")
            if name not in known:
                raise ValueError(
                    f"{type(self).__name__} has no parameter {name!r}; it has "
                    f"{', '.join(inspect.signature(type(self)).parameters) or 'none'}."
                )
            if inner:
                getattr(self, name).set_params(**{inner: value})
            else:
                setattr(self, name, value)
        return self


def _from(given: Any) -> str:
    """Return where a class of this library comes from: some have namesakes."""
    module = type(given).__module__
    return f" of {module}" if module.startswith("bochner.") else ""
