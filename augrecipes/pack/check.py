"""A store compared with its checksums, for the command line."""

from augrecipes.sources.store.verify import Fault, verify

__all__ = ["Fault", "verify"]
