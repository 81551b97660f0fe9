"""Reports as single HTML files. Provisional: its names may change in later releases."""
