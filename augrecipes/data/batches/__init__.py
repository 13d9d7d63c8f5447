"""Batches: their order, the memory they are written into, collating them, and what broken files leave behind."""
