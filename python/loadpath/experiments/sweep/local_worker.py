"""Set-up of the workers that a sweep starts on its own machine: Dask calls it in each of them."""

import signal

__all__ = ["dask_setup"]


def dask_setup(worker: object) -> None:
    """Leave Ctrl-C, which a terminal sends to all, to the process that started the worker."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
