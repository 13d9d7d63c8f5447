"""A reader for Python source, which never runs it: pipelines as calls, by their names in the file."""
