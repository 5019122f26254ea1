"""Processes of `truecost` that have imported already: children of one that imports once.

A command in a process of its own takes 1.2 s of CPU before it does anything, to import and to load
compiled kernels. A nursery does that once for all tests of a worker, and each process is forked
from it: with its own standard streams, folder, environment, signals and exit, and as a child of
the process of the tests, who may wait for it and kill it. What is tested of the start itself needs
a process that starts: `subprocess`, or `born=False`.
"""

import atexit
import contextlib
import ctypes
import gc
import importlib
import inspect
import json
import os
import pkgutil
import runpy
import signal
import socket
import subprocess
import sys
import threading
import types
import warnings
from functools import cache
from pathlib import Path

ADOPTS = 36  # PR_SET_CHILD_SUBREAPER: whose parent ended becomes a child of ours
MOST = 1 << 18  # bytes of a request, of which the environment is most
LATER = ("sklearn.linear_model", "sklearn.preprocessing", "jinja2")  # imported in functions
ASLEEP = {"jemalloc_bg_thd", "polars-ooc-clea"}  # of an import of polars: not missed in a child
OWN = ("PYTHON", "NUMBA_", "POLARS_", "LD_", "OPENBLAS_", "OMP_")  # read while a process starts
KNOWN = {"stdin", "stdout", "stderr", "text", "env", "cwd", "start_new_session"}  # of Popen
LOCK = threading.Lock()  # who asks is answered before another one asks


def at_start(name):
    """Whether a process reads this of its environment while it starts."""
    return name.startswith(OWN) and name != "PYTHONWARNINGS"


ENVIRONMENT = {n: v for n, v in os.environ.items() if n != "PYTHONWARNINGS"}  # of no test
BEGUN = {n: v for n, v in ENVIRONMENT.items() if at_start(n)}


class Forked(subprocess.Popen):
    """Python with some words, as `python` takes them; the options of Popen."""

    def _execute_child(self, *given):
        how = inspect.signature(subprocess.Popen._execute_child).bind(self, *given).arguments
        pipes = [how["p2cread"], how["c2pwrite"], how["errwrite"]]
        environment = dict(os.environ if how["env"] is None else how["env"])
        request = {
            "words": how["args"],
            "folder": os.fspath(how["cwd"] or Path.cwd()),
            "environment": environment,
            "alone": how["start_new_session"],
        }
        pipes = [own if fd == -1 else fd for own, fd in enumerate(pipes)]
        with LOCK:
            socket.send_fds(nursery(), [json.dumps(request).encode()], pipes)
            self.pid = int(nursery().recv(64))
        self._child_created = True
        self._close_pipe_fds(
            *(how[n] for n in ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite"))
        )


def start(words, **options):
    """`truecost` with some words: forked where this system and what is asked for allow it."""
    return python(["-m", "truecost", *words], **options)


def python(words, **options):
    """Python with `-m MODULE`, `-c TEXT` or a file, and more words: as `start`."""
    words, environment = [*map(str, words)], options.get("env") or os.environ
    alike = {n: v for n, v in environment.items() if at_start(n)} == BEGUN
    if sys.platform == "linux" and alike and options.keys() <= KNOWN:
        return Forked(words, **options)
    return subprocess.Popen([sys.executable, *words], **options)


def ran(words, said=None, **options):
    """As `subprocess.run` with Python: what it printed; a fault where its exit code is not 0."""
    heard = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with python(words, **heard, **options) as process:
        out, err = process.communicate(said)
    assert process.returncode == 0, err
    return out


@cache
def nursery():
    """The socket to a process that has imported."""
    ctypes.CDLL(None).prctl(ADOPTS, 1, 0, 0, 0)
    near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    for end in (near, far):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * MOST)
    words = [sys.executable, __file__, str(far.fileno())]
    process = subprocess.Popen(
        words, pass_fds=[far.fileno()], env=ENVIRONMENT, stdin=subprocess.DEVNULL, cwd="/"
    )
    far.close()

    def end():
        near.close()
        process.wait()

    atexit.register(end)
    return near


def prepare():
    """Import what commands import, and load the kernels that were compiled before."""
    import truecost

    for found in pkgutil.walk_packages(truecost.__path__, "truecost."):
        if not found.name.endswith("__main__"):
            try:
                importlib.import_module(found.name)
            except ImportError:  # of an extra that is not here
                continue
    for name in LATER:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    truecost.report.page._template()
    from numba.core.dispatcher import Dispatcher

    for name, module in [*sys.modules.items()]:
        if name.startswith("truecost.kernels"):
            for one in vars(module).values():
                if isinstance(one, Dispatcher):
                    load(one)
    threads = {file.read_text().strip() for file in Path("/proc/self/task").glob("*/comm")}
    assert threads - ASLEEP == {Path("/proc/self/comm").read_text().strip()}
    gc.collect()
    gc.freeze()


def load(kernel):
    """Load all that was compiled of a kernel."""
    file = getattr(kernel._cache, "_cache_file", None)
    for signature, *_ in file._load_index() if file else ():
        if signature not in kernel.overloads:
            kernel.compile(signature)


def serve(far):
    """Fork a child for each request; returns the request in the child."""
    while True:
        text, pipes, *_ = socket.recv_fds(far, MOST, 3)
        if not text:
            os._exit(0)
        reading, writing = os.pipe()
        between = os.fork()
        if between:
            os.close(writing)
            for pipe in pipes:
                os.close(pipe)
            os.waitpid(between, 0)  # from now on the child is one of the tests'
            far.send(os.read(reading, 64))
            os.close(reading)
            continue
        child = os.fork()
        if child:
            os.write(writing, str(child).encode())
            os._exit(0)
        os.close(reading)
        os.close(writing)
        far.close()
        return json.loads(text), pipes


def begin(asked, pipes):
    """Be the process that was asked for."""
    if asked["alone"]:
        os.setsid()
    for own, pipe in enumerate(pipes):
        os.dup2(pipe, own)
    for pipe in pipes:
        if pipe > 2:
            os.close(pipe)
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for pipe, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        how = {"errors": "backslashreplace", "buffering": 1} if name == "stderr" else {}
        stream = open(pipe, mode, encoding="utf-8", closefd=False, **how)  # noqa: SIM115
        setattr(sys, name, stream)
    for option in filter(None, os.environ.get("PYTHONWARNINGS", "").split(",")):
        warnings._setoption(option)
    from truecost import errors

    errors._forked.clear()  # frames were imported, and never used
    first, *words = asked["words"]
    sys.argv[:] = [first, *words]
    sys.path[0] = asked["folder"]
    if first == "-m":
        sys.argv[:] = words
        runpy.run_module(words[0], run_name="__main__", alter_sys=True)
    elif first == "-c":
        sys.argv[:] = ["-c", *words[1:]]
        sys.modules["__main__"] = main = types.ModuleType("__main__")
        exec(words[0], vars(main))
    else:
        sys.path[0] = str(Path(first).resolve().parent)
        runpy.run_path(first, run_name="__main__")


if __name__ == "__main__":
    end = socket.socket(fileno=int(sys.argv[1]))
    prepare()
    given = serve(end)
    try:
        begin(*given)
        status = 0
    except SystemExit as left:
        status = left.code
        if isinstance(status, str):
            sys.stderr.write(f"{status}\n")
            status = 1
    # As Python ends, but what is shared with other children is not taken apart, and so not copied.
    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(BrokenPipeError, ValueError):
            stream.flush()
    os._exit(status or 0)
