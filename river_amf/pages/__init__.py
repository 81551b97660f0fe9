"""Pages to look at in a browser: plain data in, one HTML file out that needs nothing else.

`document.Page` is a page of sections, `report_page` makes that of a run, and `playground` one on
which forests learn two features step by step. Plotly, whose script draws the figures, is imported
when a page is written.
"""
