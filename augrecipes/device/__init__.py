"""What is left for the training device: the sink of recipes whose output says `where: device`."""
