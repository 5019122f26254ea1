"""Lazy packages: a module is imported when one of its names is first used (PEP 562).

A package lists the modules of its public names once, for type checkers too; importing the package,
or one of its files, imports none of the others::

    if TYPE_CHECKING:
        from truecost.study.config import Study as Study
    else:
        __getattr__, __dir__, __all__ = attach(__name__, __file__)
"""

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

Place = tuple[str, str]  # a module, and a name in it; the module itself where that is empty
PLACES: dict[str, dict[str, Place]] = {}
"""Where the public names of each lazy package are made."""


def imported(module: str) -> ModuleType:
    """A module of a task; UsageError when one of another distribution cannot be imported."""
    try:
        return import_module(module)
    except Exception as error:  # whatever the code of others raises
        if module.split(".", maxsplit=1)[0] == "truecost":
            raise
        from truecost.errors import UsageError

        said = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise UsageError(f"{module}, a part of a task, cannot be imported: {said}") from error


def listed_in(package: ModuleType, name: str, what: str) -> dict[str, Any]:
    """The entries that the modules of a package list under a name, in their order; UsageError for a
    repetition.

    `what`: noun for the entries, in the message.
    """
    import pkgutil

    found: dict[str, Any] = {}
    for module in pkgutil.iter_modules(package.__path__):
        listed = getattr(import_module(f"{package.__name__}.{module.name}"), name, {})
        if repeated := sorted({*listed} & {*found}):
            from truecost.errors import UsageError

            raise UsageError(f"two {what} are named {repeated[0]!r}")
        found |= listed
    return found


class LazyPackage(ModuleType):
    """A package whose public names are not hidden by its modules of the same names."""

    def __setattr__(self, name: str, value: object) -> None:
        """Set an attribute, except a module that the import system would set over a public name."""
        _, made = PLACES[self.__name__].get(name, ("", ""))
        if not (made and value is sys.modules.get(f"{self.__name__}.{name}")):
            super().__setattr__(name, value)


def attach(
    package: str, file: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package, from its `__name__` and `__file__`."""
    PLACES[package] = places = stated(package, Path(file).read_text(encoding="utf-8"))
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


def stated(package: str, source: str) -> dict[str, Place]:
    """Modules of the public names that a package imports for type checkers.

    `from a import b as b` makes `b` public; so does `c = b` after an import of `b`.
    """
    import ast

    found: dict[str, Place] = {}
    public = set()
    [block] = [node for node in ast.parse(source).body if isinstance(node, ast.If)]
    for node in block.body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                own = node.module == package  # one of its modules
                place = (f"{package}.{alias.name}", "") if own else (node.module or "", alias.name)
                found[alias.asname or alias.name] = place
                public |= {alias.name} & {alias.asname}
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
            names = {target.id for target in node.targets if isinstance(target, ast.Name)}
            found |= dict.fromkeys(names, found[node.value.id])
            public |= names
    return {name: found[name] for name in sorted(public)}
