"""Every private part of albumentations and torch that augrecipes takes hold of, and the versions it is proven against.

Nothing else imports albumentations, or looks behind torch's public names: with a new version this is all there is to
prove again. `guard` decides which albumentations may be imported; `albumentations` and `torch` hold the hooks.
"""

import os


def stay_offline() -> None:
    """Keep albumentations from asking the network for a newer release whenever it is imported, here or by others."""
    os.environ["NO_ALBUMENTATIONS_UPDATE"] = "1"
