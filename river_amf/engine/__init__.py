"""Between the public classes and the kernels: samples, blocks, capacity and locks."""
