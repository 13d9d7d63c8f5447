"""A small synthetic data set, and a tour of augrecipes over it (`augrecipes demo`)."""
