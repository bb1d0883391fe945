"""NamedComponents: a component given by name has its parameters in `get_params`."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator

from bochner.component import Component
from bochner.estimators.automatic.defaults import is_auto


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
        return self._default_kernel() if name == "kernel" and is_auto(given) else given

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, including those of named components."""
        params: dict[str, Any] = super().get_params(deep=deep)
        for name, family in self.families.items() if deep else ():
            value = self._value_of(name)
            if isinstance(value, str) and value in family.registry:
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
