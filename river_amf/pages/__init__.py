"""Pages to look at in a browser: plain data in, one HTML file out that needs nothing else.

`document.Page` is a page of sections, and `report_page` makes that of a run. Plotly, whose script
draws the figures, is imported when a page is written.
"""
