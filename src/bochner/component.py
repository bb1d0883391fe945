"""Component: hyperparameters with a registered name, and estimators that take such names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator, clone

from bochner.wording import AdvisedError, did_you_mean


class Component:
    """A dataclass that scikit-learn can read, set, clone and search.

    A direct subclass of `Component` is the base of a *family* (kernels, losses, solvers, ...).
    Every concrete class of the family registers itself under a name; `resolve` turns a name or a
    component into a component:

    >>> from bochner.kernels import Kernel
    >>> Kernel.resolve("gaussian")
    Gaussian(bandwidth='median', multiplier=...)
    """

    family: ClassVar[str]
    registry: ClassVar[dict[str, Callable[[], Any]]]
    _aliases: ClassVar[dict[str, Callable[[], Any]]]  # further names, such as those of scikit-learn
    _refused: ClassVar[dict[str, str]]  # names that others use, and why there is no such component

    def __init_subclass__(cls, family: str | None = None, name: str | None = None) -> None:
        super().__init_subclass__()
        if family is not None:
            cls.family, cls.registry, cls._aliases, cls._refused = family, {}, {}, {}
        if name is not None:
            cls.registry[name] = cls

    @classmethod
    def register(cls, name: str, factory: Callable[[], Any]) -> None:
        """Register a name for a configured component."""
        cls.registry[name] = factory

    @classmethod
    def add_aliases(cls, aliases: dict[str, Callable[[], Any]], refused: dict[str, str]) -> None:
        """Add further names, and names that are refused with a reason."""
        cls._aliases |= aliases
        cls._refused |= refused

    @classmethod
    def knows(cls, name: str) -> bool:
        """Whether there is a component of this name or alias."""
        return name in cls.registry or name in cls._aliases

    @classmethod
    def resolve(cls, given: Any) -> Self:
        """Return a new component: that of a name with its defaults, or a copy of a component."""
        if isinstance(given, cls):
            return clone(given)  # type: ignore[no-any-return]
        if isinstance(given, str) and cls.knows(given):
            return (cls.registry | cls._aliases)[given]()  # type: ignore[no-any-return]
        if isinstance(given, str) and given in cls._refused:
            raise ValueError(f"There is no {cls.family} {given!r}: {cls._refused[given]}")
        names = ", ".join(repr(name) for name in sorted(cls.registry))
        package = ".".join(cls.__module__.split(".")[:2])
        near = did_you_mean(given, (*cls.registry, *cls._aliases))
        got = f"got {given!r}{_module_of(given)}.{near}"
        raise AdvisedError(
            f"{cls.family} must be one of {names}",
            f"or a component of {package}; {got}",
            f"on the command line; {got}",
        )

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the hyperparameters; those of nested components are `outer__inner`."""
        params: dict[str, Any] = {}
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            params[field.name] = value
            if deep and isinstance(value, Component):
                params |= {f"{field.name}__{k}": v for k, v in value.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set hyperparameters by their names in `get_params`."""
        known = self.get_params(deep=False)
        for key, value in params.items():
            name, _, inner = key.partition("__")
            if name not in known:
                raise ValueError(
                    f"{type(self).__name__} has no parameter {name!r}; it has "
                    f"{', '.join(known) or 'none'}.{did_you_mean(name, known)}"
                )
            if inner:
                getattr(self, name).set_params(**{inner: value})
            else:
                setattr(self, name, value)
        return self


class NamedComponents(BaseEstimator):  # type: ignore[misc]
    """An estimator whose parameters in `families` take a name or a component.

    `kernel__bandwidth` is a parameter even if `kernel` is the name "gaussian": setting it replaces
    the name by the component with its defaults.
    """

    families: ClassVar[dict[str, type[Component]]]

    def _default_kernel(self) -> Any:
        """Return what kernel="auto" means without rows."""
        return "auto"

    def _value_of(self, name: str) -> Any:
        """Return a parameter, with the default kernel in place of "auto"."""
        given = getattr(self, name)
        auto = isinstance(given, str) and given == "auto"
        return self._default_kernel() if name == "kernel" and auto else given

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, including those of named components."""
        params: dict[str, Any] = super().get_params(deep=deep)
        for name, family in self.families.items() if deep else ():
            value = self._value_of(name)
            if isinstance(value, str) and family.knows(value):
                inner = family.resolve(value).get_params()
                params |= {f"{name}__{key}": inner[key] for key in inner}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters; setting one of a named component replaces the name by the component."""
        outer = {key: value for key, value in params.items() if "__" not in key}
        super().set_params(**outer)
        for key in params.keys() - outer.keys():
            name = key.partition("__")[0]
            if name in self.families and isinstance(getattr(self, name), str):
                setattr(self, name, self.families[name].resolve(self._value_of(name)))
        super().set_params(**{key: params[key] for key in params.keys() - outer.keys()})
        return self


def _module_of(given: Any) -> str:
    """Return the module of a class of this library, since some classes share their names."""
    module = type(given).__module__
    return f" of {module}" if module.startswith("bochner.") else ""
