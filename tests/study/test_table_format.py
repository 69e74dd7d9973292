"""Tables of studies as Markdown."""

from types import SimpleNamespace

from residuum.study.table_format import to_markdown


def test_a_title_is_no_markup_of_markdown():
    title = r"F1: <script>|[a](javascript:b) `c` *d* _e_ \ &lt;"
    table = SimpleNamespace(title=title, heads=["a", "b"], lines=lambda _: [["x", "**1.0**"]])
    head, *rows = to_markdown(table).split("\n\n")
    assert head == r"F1: \<script\>\|\[a\](javascript:b) \`c\` \*d\* \_e\_ \\ \&lt;"
    assert rows == ["| a | b |\n| --- | ---: |\n| x | **1.0** |\n"]
