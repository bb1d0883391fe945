"""How Sphinx builds the documentation: `make docs`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

import bochner

project = "Bochner"
author = copyright = "The Bochner developers"
version = release = bochner.__version__

extensions = ["myst_parser", "reference"]
exclude_patterns = ["_build"]
smartquotes = False  # "auto" is a word of the code

html_theme = "furo"
html_title = "Bochner"
html_copy_source = html_show_sourcelink = html_show_sphinx = False
pygments_style = "friendly"
pygments_dark_style = "monokai"
html_static_path = ["_static"]
html_css_files = ["page.css"]
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#2b7bba", "color-brand-content": "#2b7bba"},
    "dark_css_variables": {"color-brand-primary": "#6fb1e4", "color-brand-content": "#6fb1e4"},
}

myst_heading_anchors = 3
