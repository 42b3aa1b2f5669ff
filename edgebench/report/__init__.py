"""Reports: the terminal table, the HTML page, the JSON document, and their figures."""
