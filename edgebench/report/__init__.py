"""Reports: the terminal table, the HTML page, the JSON document, and their figures."""

import logging

# Where its configuration folder cannot be written, matplotlib takes a temporary one, which changes no figure;
# it says so while it is imported, by any module of this package.
logging.getLogger("matplotlib").setLevel(logging.ERROR)
