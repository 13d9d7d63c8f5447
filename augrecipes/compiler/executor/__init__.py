"""Plans that the native kernels carry out sample by sample, draws and all, without Python between their steps."""
