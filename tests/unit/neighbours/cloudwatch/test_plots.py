"""Pictures of metrics, looked at by their pixels."""

import io
import json
from datetime import UTC

import pytest

from hashrange.metrics.math.values import TimeSeries
from hashrange.neighbours.cloudwatch.plots import Curve, draw
from hashrange.neighbours.cloudwatch.widgets import read_widget

Image = pytest.importorskip("PIL.Image")
numpy = pytest.importorskip("numpy")
SPAN = (1_800_000_000, 1_800_003_600)
RED, BLUE, LIME = "#ff0000", "#0000ff", "#00ff00"


def curve(*values, color=RED, label="Sales", unit="Count", is_right=False):
    points = {SPAN[0] + 600 * place: value for place, value in enumerate(values)}
    return Curve(TimeSeries(points, 600), label, unit, color, is_right)


def picture(*curves, **more):
    more.setdefault("legend", {"position": "hidden"})
    widget = read_widget(json.dumps({"metrics": [["Shop", "Sales"]], **more}))
    image = Image.open(io.BytesIO(draw(widget, curves, SPAN, UTC)))
    return image.convert("RGB")


def rows_of(image, color):
    """Return the heights at which a picture has about a colour, the top first."""
    wanted = [int(color[place : place + 2], 16) for place in (1, 3, 5)]
    distances = abs(numpy.asarray(image).astype(int) - wanted)
    return (distances < 90).all(axis=2).any(axis=1).nonzero()[0].tolist()


def test_a_picture_has_the_size_that_was_asked_for():
    assert picture(curve(1, 2)).size == (600, 400)
    assert picture(curve(1, 2), width=1, height=1).size == (1, 1)


def test_a_larger_value_is_drawn_higher():
    image = picture(curve(1, 1, 1), curve(9, 9, 9, color=BLUE))
    assert max(rows_of(image, BLUE)) < min(rows_of(image, RED))


def test_an_axis_has_the_limits_that_were_asked_for():
    image = picture(curve(5, 5), yAxis={"left": {"min": 0, "max": 4}})
    assert rows_of(image, RED) == []


def test_a_curve_can_have_the_scale_of_the_right():
    image = picture(curve(1, 2), curve(1001, 1000, color=BLUE, is_right=True))
    assert max(rows_of(image, RED)) - min(rows_of(image, RED)) > 100


def test_a_single_point_is_seen():
    assert rows_of(picture(curve(5)), RED)


def test_a_stack_adds_up():
    plain = picture(curve(5, 5, 5), yAxis={"left": {"min": 0, "max": 20}})
    assert rows_of(plain, RED)
    stacked = picture(curve(5, 5, 5), curve(5, 5, color=BLUE), stacked=True)
    assert stacked.tobytes() != picture(curve(5, 5, 5), curve(5, 5, color=BLUE)).tobytes()


@pytest.mark.parametrize(
    "annotations",
    [
        {"horizontal": [{"value": 2, "label": "high", "color": LIME}]},
        {"horizontal": [{"value": 2, "color": LIME, "fill": "above"}]},
        {"horizontal": [{"value": 2, "color": LIME, "fill": "below", "yAxis": "right"}]},
        {"horizontal": [[{"value": 2, "color": LIME}, {"value": 3, "color": LIME}]]},
        {"vertical": [{"value": "2027-01-15T08:30:00Z", "label": "now", "color": LIME}]},
        {"vertical": [{"value": "2027-01-15T08:30:00Z", "color": LIME, "fill": "before"}]},
        {"vertical": [{"value": "2027-01-15T08:30:00", "color": LIME, "fill": "after"}]},
        {
            "vertical": [
                [
                    {"value": "2027-01-15T08:10:00Z", "color": LIME},
                    {"value": "2027-01-15T08:20:00Z"},
                ]
            ]
        },
    ],
)
def test_annotations_are_drawn_unless_they_are_invisible(annotations):
    assert rows_of(picture(curve(1, 5), annotations=annotations), LIME)
    (kind, marks), *_ = annotations.items()
    flat = [mark for entry in marks for mark in (entry if isinstance(entry, list) else [entry])]
    hidden = {kind: [{**mark, "visible": False} for mark in flat]}
    assert rows_of(picture(curve(1, 5), annotations=hidden), LIME) == []


def test_an_annotation_outside_the_curves_is_within_the_picture():
    high = {"horizontal": [{"value": 500, "color": LIME}]}
    assert rows_of(picture(curve(1, 5), annotations=high), LIME)


@pytest.mark.parametrize("position", ["bottom", "right"])
def test_a_legend_names_the_curves(position):
    plain = picture(curve(1, 5, label="x" * 100))
    legend = picture(curve(1, 5, label="x" * 100), legend={"position": position})
    assert plain.tobytes() != legend.tobytes()


@pytest.mark.parametrize("view", ["bar", "pie", "singleValue"])
def test_other_views_show_the_last_value(view):
    image = picture(curve(1, 5), curve(7, color=BLUE), view=view)
    assert rows_of(image, RED)
    assert image.tobytes() != picture(curve(1, 50), curve(7, color=BLUE), view=view).tobytes()


@pytest.mark.parametrize("view", ["timeSeries", "bar", "pie", "singleValue"])
@pytest.mark.parametrize("stacked", [False, True])
def test_nothing_can_be_drawn_too(view, stacked):
    assert picture(curve(), view=view, stacked=stacked).size == (600, 400)
    assert picture(view=view, stacked=stacked).size == (600, 400)


def test_texts_are_no_formulas():
    assert picture(curve(1, label="$x_{"), title="$x_{", legend={}).size == (600, 400)


def test_a_theme_has_a_background():
    assert picture(curve(1)).getpixel((0, 0)) == (255, 255, 255)
    assert picture(curve(1), theme="dark").getpixel((0, 0)) != (255, 255, 255)
