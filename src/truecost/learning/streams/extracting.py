"""Functions that a user names as `module:function`."""

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from truecost.errors import UsageError


def function_of(name: str, key: str = "extractor") -> Callable[..., Any]:
    """A function, imported; modules of the current folder can be named too.

    Parameters
    ----------
    name : str
        `package.module:function`.
    key : str
        The setting, for messages.

    Raises
    ------
    UsageError
        When there is no such module or function.
    """
    module, _, function = name.partition(":")
    if not module or not function:
        raise UsageError(f"[source] {key} = {name!r}: expected module:function")
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        found = getattr(importlib.import_module(module), function, None)
    except ImportError as error:
        raise UsageError(f"[source] {key} = {name!r}: cannot import it ({error})") from error
    finally:
        sys.path.remove(here)
    if not callable(found):
        raise UsageError(f"[source] {key} = {name!r}: {module} has no function {function!r}")
    return found  # type: ignore[no-any-return]
