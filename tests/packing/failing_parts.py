"""Tasks that fail on the way; workers import this, and nothing that takes long."""

import os
import pickle
import time
from pathlib import Path
from typing import Any

from augrecipes.packing.parts import part_named
from augrecipes.packing.ray import write_one


def dies(sent: tuple[bytes, str, str], number: int, of: int) -> Any:
    """The second part is killed the first time, and the second time it fails, once another is done."""
    mark = Path(os.environ["AUGRECIPES_TEST_MARKS"], f"{number}")
    tries = len(mark.read_text()) if mark.exists() else 0
    mark.write_text("x" * (tries + 1))
    if number == 2 and tries == 0:
        os._exit(1)
    if number == 2 and tries == 1:
        while not any(part_named(path.name) for path in pickle.loads(sent[0])[0].out.glob("*")):
            time.sleep(0.02)
        raise OSError("the disk is away")
    return write_one(sent, number, of)
