"""The records of all classes of steps, a module per family. They need neither albumentations nor numpy."""
