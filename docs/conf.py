"""How the documentation is built: `make docs` runs Sphinx with this file.

The pages need no network: no script, style, font or picture comes from elsewhere. Three things can
be set from outside: `DOCS_EDIT_URL`, such as `https://host/project/edit/main/docs/{{ file_name }}`,
shows a link to edit each page; `DOCS_REPOSITORY_URL` shows a link to the code.
"""

import os
import sys
from pathlib import Path

import residuum

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))

project = "residuum"
author = "the authors of residuum"
project_copyright = author
version = release = residuum.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "formulas",
    "commands",
    "grammar",
    "names",
    "outside_files",
]
exclude_patterns = ["_extensions", "_static"]
source_suffix = {".md": "markdown"}

myst_enable_extensions = ["dollarmath", "deflist", "colon_fence", "attrs_inline"]
myst_heading_anchors = 4
myst_links_external_new_tab = False

# Docstrings use single backquotes for code, as Markdown does.
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
python_use_unqualified_type_names = True
add_module_names = False
smartquotes = False
python_maximum_signature_line_length = 80
toc_object_entries_show_parents = "hide"

html_theme = "pydata_sphinx_theme"
html_title = "residuum"
html_static_path = ["_static"]
html_css_files = ["residuum.css"]
html_show_sourcelink = False
html_copy_source = False
html_show_sphinx = False
html_last_updated_fmt = None
html_sidebars = {page: [] for page in ("index", "benchmarks", "glossary")}  # no pages below
html_math_renderer = "mathml"
html_search_language = "en"
html_search_scorer = str(HERE / "search_order.js")
html_context = {
    "default_mode": "auto",
    "edit_page_url_template": os.environ.get("DOCS_EDIT_URL", ""),
    "edit_page_provider_name": "the repository",
}
html_theme_options = {
    "use_edit_page_button": bool(os.environ.get("DOCS_EDIT_URL")),
    "icon_links": [
        {"name": "Code", "url": os.environ["DOCS_REPOSITORY_URL"], "icon": "fa-solid fa-code"}
    ]
    if os.environ.get("DOCS_REPOSITORY_URL")
    else [],
    "show_prev_next": True,
    "show_toc_level": 2,
    "navigation_depth": 2,
    "header_links_before_dropdown": 9,
    "navbar_align": "left",
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
