"""Option files of BasicSR, Real-ESRGAN and traiNNer-redux: pairs, and degradations that make the low resolution."""
