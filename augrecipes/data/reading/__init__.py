"""One sample of any kind, read as the Datasets read it, for those who look at samples one by one; no torch here."""
