"""The report of a comparison: one page that needs nothing else, and the record."""
