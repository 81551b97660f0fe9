"""Pages to look at in a browser: plain data in, one HTML file out that needs nothing else.

`document.Page` is a page of parts, and `report` the page of a run. Figures are plotly's, which is
imported when they are drawn.
"""
