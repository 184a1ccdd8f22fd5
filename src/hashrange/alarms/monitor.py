"""What CloudWatch and SNS are served from."""

from __future__ import annotations

from typing import final

from hashrange.alarms.documents import Documents
from hashrange.alarms.evaluation import Evaluator
from hashrange.alarms.store import AlarmStore
from hashrange.alarms.topics import TopicStore
from hashrange.clock import Clock
from hashrange.engine.base import Engine
from hashrange.metrics.insight_reports import InsightReports
from hashrange.metrics.reader import Metrics


@final
class Monitor:
    """Metrics, alarms, topics and other documents of a server; one per process."""

    __slots__ = ("alarms", "documents", "evaluator", "insights", "metrics", "topics")

    def __init__(
        self,
        metrics: Metrics,
        insights: InsightReports,
        engine: Engine,
        clock: Clock,
        address: str = "",
    ) -> None:
        self.metrics = metrics
        self.insights = insights
        self.documents = Documents(engine)
        self.alarms = AlarmStore(self.documents, clock)
        self.evaluator = Evaluator(metrics, self.alarms, clock)
        self.topics = TopicStore(self.documents, clock, address)
