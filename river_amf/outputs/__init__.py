"""What people get: predictions of labels and targets, as series and frames; names as texts."""
