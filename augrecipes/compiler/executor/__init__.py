"""Programs: plans that the native kernels run sample by sample, draws included, without Python between the steps."""
