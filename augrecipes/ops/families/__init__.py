"""The record of each class of steps, a module a family. Reading them needs neither albumentations nor numpy."""
