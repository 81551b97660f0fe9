"""Reports as pages: tables and figures in, one HTML file out that needs nothing else."""
