"""What several files of tests share: one module a subject."""
