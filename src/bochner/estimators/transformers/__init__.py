"""Features of kernels as scikit-learn's transformers."""
