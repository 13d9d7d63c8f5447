"""Python sides of the kernels: transforms with fewer passes over the pixels than albumentations', and the sink."""
