"""EigenPro: stochastic gradients with the top of the spectrum flattened."""
