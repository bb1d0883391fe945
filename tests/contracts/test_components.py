"""What every component promises, for every family and every name."""

import pickle
from dataclasses import fields

import pytest
from sklearn.base import clone

from bochner.component import Component
from bochner.features import Drawing, FeatureMap
from bochner.kernels import Kernel
from bochner.losses import Loss
from bochner.solvers import Coordinates, DoublyStochastic, Solver, StepRule
from bochner.tuning import Tuning

FAMILIES = [Kernel, Loss, FeatureMap, Drawing, Solver, StepRule, Coordinates, Tuning]
NAMED = [(family, name) for family in FAMILIES for name in sorted(family.registry)]
every_component = pytest.mark.parametrize(("family", "name"), NAMED)


def test_there_are_components_of_every_family():
    assert {family for family, _ in NAMED} == set(FAMILIES)


@every_component
def test_a_name_gives_a_fresh_component(family, name):
    one, two = family.resolve(name), family.resolve(name)
    assert isinstance(one, family)
    assert one == two
    assert one is not two


@every_component
def test_a_component_resolves_to_a_copy_of_itself(family, name):
    component = family.resolve(name)
    copy = family.resolve(component)
    assert copy == component
    assert copy is not component


@every_component
def test_parameters_are_the_fields_and_can_be_set(family, name):
    component = family.resolve(name)
    params = component.get_params(deep=False)
    assert list(params) == [field.name for field in fields(component)]
    assert type(component)(**params) == component
    for key in params:
        assert component.set_params(**{key: None}) is component
        assert component.get_params(deep=False)[key] is None


@every_component
def test_a_component_survives_cloning_and_pickling(family, name):
    component = family.resolve(name)
    assert clone(component) == component
    assert pickle.loads(pickle.dumps(component)) == component


@every_component
def test_every_class_says_what_it_is(family, name):
    text = type(family.resolve(name)).__doc__
    assert len(text.splitlines()) > 1
    assert not text.startswith(type(family.resolve(name)).__name__ + "(")


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("given", ["nothing of this name", 3, None, object])
def test_anything_else_is_refused_with_the_names_that_there_are(family, given):
    with pytest.raises(ValueError, match=f"{family.family} must be one of") as error:
        family.resolve(given)
    for name in family.registry:
        assert repr(name) in str(error.value)
    assert repr(given) in str(error.value)


def test_parts_of_components_are_reached_by_their_names():
    solver = DoublyStochastic(coordinates=Coordinates.resolve("uniform"))
    assert solver.get_params()["coordinates__reuse"] == 1
    assert solver.set_params(coordinates__reuse=3).coordinates.reuse == 3
    with pytest.raises(ValueError, match="DoublyStochastic has no parameter 'rate'; it has step"):
        solver.set_params(rate=1)


def test_a_factory_can_be_given_a_name():
    class Colour(Component, family="colour"):
        pass

    Colour.register("red", lambda: Colour())
    assert isinstance(Colour.resolve("red"), Colour)
