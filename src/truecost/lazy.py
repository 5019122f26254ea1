"""Lazy packages: a module is imported when one of its names is first used (PEP 562).

A package says where its public names are made; importing the package, or one of its files, imports
none of the others::

    __getattr__, __dir__, __all__ = attach(__name__, {".config": ("Study",), ".running": ("run",)})
"""

import sys
from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from importlib.util import resolve_name
from types import ModuleType
from typing import Any

Place = tuple[str, str]  # a module, and a name in it; the module itself where that is empty
PLACES: dict[str, dict[str, Place]] = {}
"""Where the public names of each lazy package are made."""


def imported(module: str) -> ModuleType:
    """A module of a task: UsageError when one of another distribution cannot be imported."""
    try:
        return import_module(module)
    except Exception as error:  # whatever the code of others raises
        if module.split(".", maxsplit=1)[0] == "truecost":
            raise
        from truecost.errors import UsageError

        said = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise UsageError(f"{module}, a part of a task, cannot be imported: {said}") from error


class LazyPackage(ModuleType):
    """A package whose public names are not hidden by its modules of the same names."""

    def __setattr__(self, name: str, value: object) -> None:
        """Set what is given, except the module that the import system sets over a public name."""
        _, made = PLACES[self.__name__].get(name, ("", ""))
        if not (made and value is sys.modules.get(f"{self.__name__}.{name}")):
            super().__setattr__(name, value)


def attach(
    package: str, names: Mapping[str, Collection[str]], modules: Collection[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package.

    Parameters
    ----------
    package : str
        Its `__name__`.
    names : mapping of str to collection of str
        Public names by the module that makes them, a full name or one that begins with a dot.
        `of as curves_of` makes `of` public as `curves_of`.
    modules : collection of str
        Its own modules and packages that are public.
    """
    places = {module: (f"{package}.{module}", "") for module in modules}
    for module, made in names.items():
        for name, _, public in (text.partition(" as ") for text in made):
            places[public or name] = (resolve_name(module, package), name)
    PLACES[package] = places
    sys.modules[package].__class__ = LazyPackage

    def get(name: str) -> Any:
        module, made = places.get(name, (f"{package}.{name}", ""))
        if made:
            return getattr(import_module(module), made)
        if not name.startswith("_"):
            try:
                return import_module(module)
            except ModuleNotFoundError as error:
                if error.name != module:
                    raise
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    def listed() -> list[str]:
        return sorted({*vars(sys.modules[package]), *places})

    return get, listed, sorted(places)
