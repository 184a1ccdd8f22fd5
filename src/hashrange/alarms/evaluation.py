"""Evaluates alarms: reads the points of their metrics and sets their states.

Alarms are evaluated when a minute has passed, those with shorter periods every ten seconds. A point
is looked at some seconds after its period has ended, when all processes have written their part.
Evaluating an alarm twice for the same time does no harm, so it does not matter which process does
it, nor when it was started.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final, final

import orjson

from hashrange.alarms.composite import CompositeRule, RuleError
from hashrange.alarms.documents import Document
from hashrange.alarms.rules import (
    ALARM,
    COMPARISONS,
    IGNORE,
    INSUFFICIENT,
    MISSING,
    OK,
    PHRASES,
    RANGE_EXTRA_POINTS,
    decide,
    samples_needed,
)
from hashrange.alarms.store import COMPOSITE_ALARM, AlarmStore, World
from hashrange.clock import Clock
from hashrange.metrics.reader import Metrics
from hashrange.metrics.series import DYNAMODB, metric_series
from hashrange.metrics.statistics import find_statistic, percentile_of
from hashrange.metrics.store import MINUTE

SETTLING_SECONDS: Final = 10.0
_SHORT_STEP_SECONDS: Final = 10
_COMPOSITE_ROUNDS_MAX: Final = 10

Points = list[tuple[int, float | None]]
"""Times and values of an evaluation range, oldest first."""


def period_of(alarm: Document) -> int:
    """Return the period of an alarm's metric or metrics."""
    if "Metrics" not in alarm:
        return int(alarm["Period"])
    periods = [query["MetricStat"]["Period"] for query in alarm["Metrics"] if "MetricStat" in query]
    return int(max(periods, default=MINUTE))


def namespaces_of(alarm: Document) -> set[str]:
    """Return the namespaces of the metrics that an alarm looks at."""
    if "Metrics" not in alarm:
        return {alarm["Namespace"]}
    return {
        query["MetricStat"]["Metric"]["Namespace"]
        for query in alarm["Metrics"]
        if "MetricStat" in query
    }


@final
class Evaluator:
    """Sets the states of alarms by their metrics."""

    def __init__(self, metrics: Metrics, store: AlarmStore, clock: Clock) -> None:
        self._metrics = metrics
        self._store = store
        self._clock = clock
        self._evaluated = -1

    async def step(self) -> int:
        """Evaluate the alarms that are due; return 0, as there is nothing more to do now."""
        ticks = int((self._clock.now() - SETTLING_SECONDS) // _SHORT_STEP_SECONDS)
        if ticks == self._evaluated:
            return 0
        is_minute = ticks // 6 != self._evaluated // 6
        self._evaluated = ticks
        alarms = await self._store.listed()
        for world, alarm in alarms:
            if alarm["Kind"] != COMPOSITE_ALARM and (is_minute or period_of(alarm) < MINUTE):
                await self.evaluate(world, alarm, repeats=is_minute)
        await self.evaluate_composites()
        return 0

    async def evaluate(self, world: World, alarm: Document, *, repeats: bool = False) -> None:
        """Evaluate one metric alarm."""
        found = await self._points(world, alarm)
        if found is None:
            return
        points, small = found
        compare = COMPARISONS[alarm["ComparisonOperator"]]
        threshold = alarm["Threshold"]
        breaches = [None if value is None else compare(value, threshold) for _, value in points]
        treatment = alarm.get("TreatMissingData", MISSING)
        if DYNAMODB in namespaces_of(alarm) or small:
            treatment = IGNORE
        periods = int(alarm["EvaluationPeriods"])
        to_alarm = int(alarm.get("DatapointsToAlarm", periods))
        before = alarm["StateValue"]
        state = decide(breaches, periods, to_alarm, treatment, before)
        if state != before:
            reason, data = explain(alarm, points, state, self._clock.now())
            await self._store.set_state(world, alarm["AlarmName"], state, reason, data)
        elif repeats:
            await self._store.repeat_scaling(world, alarm)

    async def evaluate_all(self, world: World, name: str) -> None:
        """Evaluate one alarm now, and the composite alarms, which may depend on it."""
        alarm = await self._store.get(world, name)
        if alarm is not None and alarm["Kind"] != COMPOSITE_ALARM:
            await self.evaluate(world, alarm)
        await self.evaluate_composites()

    async def _points(self, world: World, alarm: Document) -> tuple[Points, bool] | None:
        """Return the evaluation range, and whether points were left out for too few samples.

        None if the alarm has an expression that yields no time series.
        """
        period = period_of(alarm)
        step = MINUTE if period >= MINUTE else _SHORT_STEP_SECONDS
        now = int(self._clock.now() - SETTLING_SECONDS)
        end = now - now % step
        start = end - period * (alarm["EvaluationPeriods"] + RANGE_EXTRA_POINTS)
        times = range(start, end, period)
        if "Metrics" not in alarm:
            return await self._metric_points(world, alarm, times)
        # Metric math is loaded when an alarm has some.
        from hashrange.metrics.math.parser import MathError
        from hashrange.metrics.queries import run_queries

        try:
            found = await run_queries(
                self._metrics, world, alarm["Metrics"], (start, end), is_aligned=False
            )
        except MathError:
            return None
        chosen = next(q["Id"] for q in alarm["Metrics"] if q.get("ReturnData", True))
        if len(found[chosen]) != 1:
            return None
        values = found[chosen][0].values
        return [(time, values.get(time)) for time in times], False

    async def _metric_points(
        self, world: World, alarm: Document, times: range
    ) -> tuple[Points, bool]:
        name = alarm.get("Statistic") or alarm["ExtendedStatistic"]
        compute = find_statistic(name)
        assert compute is not None, "the statistic was checked when the alarm was made"
        series = metric_series(world, alarm)
        found = await self._metrics.points(series, times.start, times.stop, times.step)
        if alarm.get("Unit") not in (None, await self._metrics.unit(series)):
            found = {}
        share = percentile_of(name)
        needed = 0.0
        if share is not None and alarm.get("EvaluateLowSampleCountPercentile") == "ignore":
            needed = samples_needed(share)
        small = any(samples.count < needed for samples in found.values())
        return [
            (time, compute(found[time]) if time in found and found[time].count >= needed else None)
            for time in times
        ], small

    async def evaluate_composites(self) -> None:
        """Evaluate composite alarms until none changes; they may depend on each other."""
        for _ in range(_COMPOSITE_ROUNDS_MAX):
            alarms = await self._store.listed()
            states = {(world, a["AlarmName"]): a["StateValue"] for world, a in alarms}
            is_changed = False
            for world, alarm in alarms:
                if alarm["Kind"] == COMPOSITE_ALARM:
                    is_changed |= await self._evaluate_composite(world, alarm, states)
            if not is_changed:
                return

    async def _evaluate_composite(
        self, world: World, alarm: Document, states: dict[tuple[World, str], str]
    ) -> bool:
        try:
            rule = CompositeRule(alarm["AlarmRule"])
        except RuleError:
            return False
        state = ALARM if rule.holds(lambda n: states.get((world, n), INSUFFICIENT)) else OK
        if state == alarm["StateValue"]:
            return False
        children = ", ".join(
            f"{name} is in state {states.get((world, name), INSUFFICIENT)}"
            for name in rule.children
        )
        reason = (
            f"The rule {'holds' if state == ALARM else 'does not hold'}: {children or 'always'}"
        )
        await self._store.set_state(world, alarm["AlarmName"], state, reason)
        return True


def explain(alarm: Document, points: Points, state: str, now: float) -> tuple[str, str]:
    """Return why an alarm is in a state: a sentence for people, and JSON."""
    periods = alarm["EvaluationPeriods"]
    known = [(time, value) for time, value in points if value is not None][-periods:]
    compare = COMPARISONS[alarm["ComparisonOperator"]]
    threshold = float(alarm["Threshold"])
    data = _reason_data(alarm, known, threshold, now)
    if not known:
        plural = "datapoint was" if periods == 1 else "datapoints were"
        return f"Insufficient Data: {periods} {plural} unknown.", data
    crossing = [pair for pair in known if compare(pair[1], threshold)]
    shown = known if state != ALARM else crossing or known
    listed = ", ".join(f"{value} ({_day_time(time)})" for time, value in reversed(shown))
    verb = "was" if len(shown) == 1 else "were"
    negation = "" if state == ALARM else "not "
    needed = alarm.get("DatapointsToAlarm", periods)
    minimum = needed if state == ALARM else periods - needed + 1
    noun = "datapoint" if minimum == 1 else "datapoints"
    return (
        f"Threshold Crossed: {len(shown)} out of the last {len(known)} datapoints [{listed}] "
        f"{verb} {negation}{PHRASES[alarm['ComparisonOperator']]} the threshold ({threshold}) "
        f"(minimum {minimum} {noun} for {alarm['StateValue']} -> {state} transition).",
        data,
    )


def _reason_data(
    alarm: Document, known: Sequence[tuple[int, float]], threshold: float, now: float
) -> str:
    data: dict[str, Any] = {
        "version": "1.0",
        "queryDate": iso(now),
        "startDate": iso(known[0][0]) if known else None,
        "statistic": alarm.get("Statistic") or alarm.get("ExtendedStatistic"),
        "period": period_of(alarm),
        "recentDatapoints": [value for _, value in known],
        "threshold": threshold,
        "evaluatedDatapoints": [
            {"timestamp": iso(time), "value": value} for time, value in reversed(known)
        ],
    }
    return orjson.dumps({name: value for name, value in data.items() if value is not None}).decode()


def iso(seconds: float) -> str:
    """Return a time as alarms write it."""
    moment = datetime.fromtimestamp(seconds, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}+0000"


def _day_time(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%d/%m/%y %H:%M:%S}"
