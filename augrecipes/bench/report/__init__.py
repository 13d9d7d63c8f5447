"""The report of a comparison: one page that needs nothing else, plots, and the record."""
