"""Turn what people pass in into numbers: features, labels, targets and dataframes."""
