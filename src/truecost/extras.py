"""Optional packages: imported where they are needed, with an error that says what to install."""

import importlib
from types import ModuleType

from truecost.errors import MissingExtraError


def need(module: str, extra: str) -> ModuleType:
    """An optional package, imported.

    Parameters
    ----------
    module : str
        Name of the module.
    extra : str
        The extra of truecost that brings it.

    Raises
    ------
    MissingExtraError
        When it is not installed.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if (error.name or "").partition(".")[0] != package:
            raise  # the package is there and lacks something itself
        raise MissingExtraError(
            f"this needs the package {package}, which is not installed: "
            f"pip install 'truecost[{extra}]'"
        ) from error
