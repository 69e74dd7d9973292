"""The picture of advice: the lengths of its bars are the shares."""

import pytest

from made_up_advice import measured
from residuum.errors import PictureError
from residuum.reports.advice_figures import draw_advice


def test_bars_are_as_long_as_the_shares_and_end_at_one():
    figure = draw_advice([measured("a", 0.5, evaded=0.2), measured("b", 0.25, evaded=None)])
    [place] = figure.axes
    bars = [[bar.get_width() for bar in kind] for kind in place.containers]
    assert bars == [pytest.approx(shares) for shares in ([0.5, 0.25], [0.2, 0], [0.3, 0.75])]
    assert [label.get_text() for label in place.get_yticklabels()] == ["a", "b"]
    ends = [bar.get_x() + bar.get_width() for bar in place.containers[-1]]
    assert ends == pytest.approx([1, 1])


def test_each_rule_and_sample_with_violations_has_a_panel():
    found = [measured("a", 0.5, rule=rule, sample=s) for rule in "rq" for s in ("x", "y")]
    found.append(measured("a", None, rule="obeyed"))
    titles = [place.get_title() for place in draw_advice(found).axes]
    assert titles == ["r\nx", "r\ny", "q\nx", "q\ny"]
    with pytest.raises(PictureError, match="expected a violated grounding"):
        draw_advice([measured("a", None)])
