"""NamedComponents: parameters that are names can be searched like the components they name."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator

from bochner.component import Component


class NamedComponents(BaseEstimator):  # type: ignore[misc]
    """An estimator whose parameters in `families` take a name or a component.

    `kernel__bandwidth` is a parameter also while `kernel` is the name "gaussian": setting it puts
    the named component with its defaults in the place of the name.
    """

    families: ClassVar[dict[str, type[Component]]]

    def _meant(self, name: str) -> Any:
        """Return what a parameter stands for: what was given, or what "auto" means."""
        return getattr(self, name)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, those of named components included."""
        params: dict[str, Any] = super().get_params(deep=deep)
        for name, family in self.families.items() if deep else ():
            meant = self._meant(name)
            if isinstance(meant, str) and meant in family.registry:
                inner = family.resolve(meant).get_params()
                params |= {f"{name}__{key}": value for key, value in inner.items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters; a name gives way to its component where a part of it is set."""
        outer = {key: value for key, value in params.items() if "__" not in key}
        super().set_params(**outer)
        for key in params.keys() - outer.keys():
            name = key.partition("__")[0]
            if name in self.families and isinstance(getattr(self, name), str):
                setattr(self, name, self.families[name].resolve(self._meant(name)))
        super().set_params(**{key: params[key] for key in params.keys() - outer.keys()})
        return self
