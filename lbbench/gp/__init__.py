"""The Gaussian process: kernels, data, posteriors, and the likelihood of the length scale."""
