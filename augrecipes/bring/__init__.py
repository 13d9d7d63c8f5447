"""The former name of `augrecipes.interop`, for one release: programs that `augrecipes eject` wrote import from here."""
