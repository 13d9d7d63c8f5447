"""All files of some data looked at before the first sample: every defect at once; no torch here."""
