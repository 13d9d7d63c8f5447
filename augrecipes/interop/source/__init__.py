"""Python source read, never run: pipelines as calls, by the names that they have in the file."""
