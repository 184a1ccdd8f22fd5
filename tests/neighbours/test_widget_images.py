"""GetMetricWidgetImage through boto3."""

import json
import sys

import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def cloudwatch(dynamodb_server):
    client = dynamodb_server.client("cloudwatch", config=Config(retries={"total_max_attempts": 1}))
    now = dynamodb_server.clock.now()
    for store, value in (("a", 1.0), ("b", 9.0)):
        client.put_metric_data(
            Namespace="Shop",
            MetricData=[
                {
                    "MetricName": "Sales",
                    "Dimensions": [{"Name": "Store", "Value": store}],
                    "Timestamp": now - 600,
                    "Value": value,
                }
            ],
        )
    return client


def image(cloudwatch, *metrics, **more):
    widget = json.dumps({"metrics": metrics, **more})
    return cloudwatch.get_metric_widget_image(MetricWidget=widget)["MetricWidgetImage"]


def test_a_picture_shows_metrics_and_expressions(cloudwatch):
    pytest.importorskip("matplotlib")
    first = ["Shop", "Sales", "Store", "a", {"id": "a"}]
    one = image(cloudwatch, first)
    two = image(cloudwatch, first, ["...", "b", {"id": "b"}])
    total = {"expression": "SUM([a, b])", "label": "total ${LAST}"}
    three = image(cloudwatch, first, ["...", "b", {"id": "b"}], [total])
    hidden = image(cloudwatch, first, ["...", "b", {"id": "b", "visible": False}])
    assert all(picture.startswith(PNG) for picture in (one, two, three, hidden))
    assert len({one, two, three}) == 3
    assert hidden == image(cloudwatch, first)


@pytest.mark.parametrize(
    "widget",
    [
        {"metrics": [["Shop", "Sales", {"stat": "Best"}]]},
        {"metrics": [[{"expression": "nothing + 1"}]]},
        {"metrics": [["Shop", "Sales", {"period": 61}]]},
        {"metrics": [["Shop", "Sales", {"period": 1}]], "start": "-P14D"},
    ],
)
def test_what_cannot_be_drawn_is_refused(cloudwatch, widget):
    with pytest.raises(ClientError) as caught:
        cloudwatch.get_metric_widget_image(MetricWidget=json.dumps(widget))
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400


def test_only_png_is_drawn(cloudwatch):
    widget = json.dumps({"metrics": [["Shop", "Sales"]]})
    with pytest.raises(ClientError, match="png"):
        cloudwatch.get_metric_widget_image(MetricWidget=widget, OutputFormat="image/png")


def test_without_matplotlib_the_answer_says_so(cloudwatch, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.backends.backend_agg", None)
    with pytest.raises(ClientError, match="pip install matplotlib"):
        image(cloudwatch, ["Shop", "Sales"])
