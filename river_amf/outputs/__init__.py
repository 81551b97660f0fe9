"""Turn what the kernels leave into predictions: of labels and targets, as series and frames."""
