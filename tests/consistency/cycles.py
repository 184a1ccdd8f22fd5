"""Checks transactions that append to lists and read them for strict serialisability.

Every appended value is unique, so a read list tells the order of all appends before it. From these
orders follow edges between transactions: ww (the next append to a list), wr (a read saw an append),
rw (an append came after what was read), and time (one ended before another began). If no serial
order in real time explains the history, the graph has a cycle, or a list shows something that no
order can: an append that was refused, one value twice, two lists that disagree, or an acknowledged
append that is missing from a later read. This is the idea of the checker Elle, for lists.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise

from tests.consistency.history import OK, REFUSED, Operation

Graph = dict[int, list[tuple[int, str]]]


def check_lists(operations: Sequence[Operation]) -> list[str]:
    """Return what is wrong with a history; nothing, if it is strictly serialisable."""
    writers: dict[tuple[str, int], int] = {}
    for number, operation in enumerate(operations):
        for key, value in operation.wrote.items():
            assert (key, value) not in writers, "a value was appended by two operations"
            writers[key, value] = number
    problems = list(_impossible_reads(operations, writers))
    orders, disagreements = _orders(operations)
    problems += disagreements
    if problems:
        return problems
    graph = _dependencies(operations, writers, orders)
    _add_time(graph, operations)
    return [_describe(cycle, operations) for cycle in _cycles(graph)]


def _impossible_reads(
    operations: Sequence[Operation], writers: dict[tuple[str, int], int]
) -> Iterable[str]:
    for operation in _reads(operations):
        for key, values in operation.read.items():
            if len(set(values)) != len(values):
                yield f"{key} has a value twice: {values}"
            for value in values:
                writer = writers.get((key, value))
                if writer is None:
                    yield f"{key} has the value {value}, which nobody appended"
                elif operations[writer].outcome == REFUSED:
                    yield f"{key} has the value {value}, whose append was refused"


def _orders(operations: Sequence[Operation]) -> tuple[dict[str, list[int]], list[str]]:
    """Return the order of the values of each key, by its longest read; all reads are prefixes."""
    orders: dict[str, list[int]] = defaultdict(list)
    for operation in _reads(operations):
        for key, values in operation.read.items():
            if len(values) > len(orders[key]):
                orders[key] = values
    problems = [
        f"{key} was read as {values[-5:]} and in the order {orders[key][: len(values)][-5:]}"
        for operation in _reads(operations)
        for key, values in operation.read.items()
        if orders[key][: len(values)] != values
    ]
    return orders, problems


def _reads(operations: Sequence[Operation]) -> Iterable[Operation]:
    return (operation for operation in operations if operation.read and operation.outcome == OK)


def _dependencies(
    operations: Sequence[Operation],
    writers: dict[tuple[str, int], int],
    orders: dict[str, list[int]],
) -> Graph:
    graph: Graph = defaultdict(list)
    for key, values in orders.items():
        for before, after in pairwise(values):
            graph[writers[key, before]].append((writers[key, after], f"ww {key}"))
    # An acknowledged append that no read has seen comes after everything that was seen.
    unseen: dict[str, list[int]] = defaultdict(list)
    for (key, value), writer in writers.items():
        if operations[writer].outcome == OK and value not in set(orders[key]):
            unseen[key].append(writer)
    for number, operation in enumerate(operations):
        if operation.outcome != OK:
            continue
        for key, values in operation.read.items():
            if values:
                graph[writers[key, values[-1]]].append((number, f"wr {key}"))
            following = orders[key][len(values) : len(values) + 1]
            later = [writers[key, following[0]]] if following else unseen[key]
            graph[number] += [(writer, f"rw {key}") for writer in later]
    return graph


def _add_time(graph: Graph, operations: Sequence[Operation]) -> None:
    """Add edges from each operation to those called after its return, through moments in a row."""
    ended = sorted(
        (operation.returned, number)
        for number, operation in enumerate(operations)
        if operation.outcome == OK
    )
    moments = len(operations)
    for place, (_, number) in enumerate(ended):
        graph[number].append((moments + place, "time"))
        if place:
            graph[moments + place - 1].append((moments + place, "time"))
    times = [returned for returned, _ in ended]
    for number, operation in enumerate(operations):
        place = bisect_left(times, operation.called) - 1
        if place >= 0 and operation.outcome != REFUSED:
            graph[moments + place].append((number, "time"))


def _cycles(graph: Graph) -> Iterable[list[tuple[int, str]]]:
    """Return one cycle of each strongly connected component."""
    for component in _components(graph):
        members = set(component)
        start = min(members)
        # Breadth first, so that the cycle that is shown is a shortest one through its start.
        came_from: dict[int, tuple[int, str]] = {}
        queue = [start]
        for node in queue:
            for target, kind in graph.get(node, ()):
                if target in members and target not in came_from:
                    came_from[target] = (node, kind)
                    queue.append(target)
        cycle: list[tuple[int, str]] = []
        node = start
        while not cycle or node != start:
            node, kind = came_from[node]
            cycle.append((node, kind))
        yield cycle[::-1]


def _components(graph: Graph) -> Iterable[list[int]]:
    """Return the strongly connected components with several nodes (Tarjan, no recursion)."""
    index: dict[int, int] = {}
    lowest: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    for root in list(graph):
        if root in index:
            continue
        work = [(root, iter(graph.get(root, ())))]
        index[root] = lowest[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, targets = work[-1]
            for target, _ in targets:
                if target not in index:
                    index[target] = lowest[target] = len(index)
                    stack.append(target)
                    on_stack.add(target)
                    work.append((target, iter(graph.get(target, ()))))
                    break
                if target in on_stack:
                    lowest[node] = min(lowest[node], index[target])
            else:
                work.pop()
                if work:
                    parent = work[-1][0]
                    lowest[parent] = min(lowest[parent], lowest[node])
                if lowest[node] == index[node]:
                    component: list[int] = []
                    while not component or component[-1] != node:
                        component.append(stack.pop())
                        on_stack.discard(component[-1])
                    if len(component) > 1:
                        yield component


def _describe(cycle: list[tuple[int, str]], operations: Sequence[Operation]) -> str:
    steps = []
    for number, kind in cycle:
        if number < len(operations):
            each = operations[number]
            ends = {key: values[-3:] for key, values in each.read.items()}
            steps.append(f"[client {each.process} wrote {each.wrote} read {ends}]")
        steps.append(f"-{kind}->")
    return "no serial order explains: " + " ".join(steps)
