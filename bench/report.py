"""The report: docs/benchmarks.md, the details behind it and the plots, from all numbers."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from bench import plots
from bench.servers import KINDS, OURS
from bench.workloads import SIZED, WORKLOADS

Results = dict[str, Any]
Row = dict[str, Any]

_INTRODUCTION = """# Benchmarks

Hashrange and the other servers that speak the DynamoDB API, on one machine, started one beside the
other and measured in turns. [All numbers and how they are measured](benchmarks/details.md).

"""

_DETAILS_INTRODUCTION = """# Benchmarks in detail

All measurements behind the [summary](../benchmarks.md). Both pages are written by `make bench`;
`make bench-peers` installs the peers. How it is measured stands at the end.
"""

_METHOD = """## How it is measured

- The load generator is `wrk`, with two threads and keep-alive connections that have one request
  under way each. It shares the machine with the server. The requests are made from fixed seeds
  (5,000 different ones for most workloads), signed with Signature Version 4 just before the
  measurement and then replayed. A put finds another content than its own each time it is
  replayed: SQLite, which several servers use, writes nothing for a row that stays the same.
- Every answer is checked: its status, and that it has the number of items, the marks of the very
  items asked for, and no fewer bytes than they have. Before a workload is measured, some of its
  answers are compared whole, and what was written is read back.
- The tables hold 10,000 items of 1 KB, 2,000 of 0.3 KB in partitions of 20, 2,000 indexed ones of
  1 KB, and items of the other sizes.
- The servers take turns, in an order that rotates; the median of the rounds counts. A measurement
  that other processes disturbed is made again, and the least disturbed one counts.
- Each line of a table is one run of all its servers. Different lines, connections and sections may
  be from different hours, and so from different versions of Hashrange on the way to this one.
- p50 and p99 come from wrk, which adds the samples that a stalled connection could not send.
- Only the limits with one connection are measured with another client. Nothing overlaps there, so
  that all the time a client takes would look like the server's, while SQLite alone has no client;
  and to be woken for an answer takes wrk 30 to 50 µs, as long as a whole GetItem. So a small client
  of our own sends the same requests: it does not sleep, and checks an answer while the next one is
  due. Against the peers it would not be fair, since it leaves one processor to the server.
- A request that takes a server more than 0.1 s is timed alone, since load would only queue up.
- Processor time per request is that of all processes of the server.
- "On disk" is each server's own mode for keeping data. What an acknowledged write has survived
  differs: see the durability of each server above. Where a server fsyncs was seen with strace.
- Growth is measured with one worker, on a table that was scanned once: a table that was just loaded
  answers fewer gets until its pages are mapped.
- ExtendDB keeps its data in a file also "in memory": the file then lies on a RAM disk.
"""


def machine() -> str:
    """Describe this machine: processors and memory."""
    model = platform.machine()
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    kernel = ".".join(platform.release().split(".")[:2])
    return f"{os.cpu_count()} cores ({model}), {memory:.0f} GB, Linux {kernel}"


def write(results: Results, docs: Path) -> None:
    """Write the page and the plots."""
    (docs / "benchmarks.md").write_text(_INTRODUCTION + _summary(results))
    parts = [_DETAILS_INTRODUCTION, *(_sections(results)), _METHOD]
    (docs / "benchmarks" / "details.md").write_text("\n".join(parts))
    for name, plot in _plots(results).items():
        (docs / "benchmarks" / f"{name}.svg").write_text(plot)


def _summary(results: Results) -> str:
    """Return one screen: a plot, and each workload beside the best of the peers."""
    about, rows = results["throughput"]["about"], results["throughput"]["rows"]
    text = [
        "![Requests per second on disk, 16 connections](benchmarks/disk.svg)\n",
        "16 connections, requests per second, and how many times those of the fastest peer:\n",
        "| | in memory | | on disk, durable | |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for workload in WORKLOADS:
        cells = [
            _beside_the_best(
                [
                    row
                    for row in rows
                    if (row["workload"], row["storage"], row["connections"])
                    == (workload, storage, 16)
                ]
            )
            for storage in ("memory", "disk")
        ]
        text.append(f"| {WORKLOADS[workload]} | {cells[0]} | {cells[1]} |")
    return "\n".join([*text, "", _about_text(about, peers=True)])


def _beside_the_best(rows: Sequence[Row]) -> str:
    """Return our requests per second, and their ratio to those of the fastest peer."""
    ours = [row.get("per_second", 0) for row in rows if row["server"] == OURS[0]]
    peers = [row.get("per_second", 0) for row in rows if row["server"] not in OURS]
    if not ours or not peers:
        return "— | —"
    return f"{ours[0]:,.0f} | {ours[0] / max(peers):.1f} ×"


def part_text(part: str, results: Results) -> str:
    """Return the tables of one part, for the screen."""
    return _SECTIONS[part](results) + "\n" if part in _SECTIONS and part in results else ""


def _sections(results: Results) -> list[str]:
    return [section(results) for part, section in _SECTIONS.items() if part in results]


def _throughput(results: Results) -> str:
    about, rows = results["throughput"]["about"], results["throughput"]["rows"]
    text = ["## Requests per second\n", _about_text(about, peers=True)]
    for storage, title in (("memory", "In memory"), ("disk", "On disk")):
        chosen = [row for row in rows if row["storage"] == storage]
        if not chosen:
            continue
        text.append(f"### {title}\n")
        if storage == "disk":
            text += [
                "What has happened when a write is acknowledged:\n",
                _durability(about, chosen),
            ]
        for connections in sorted({row["connections"] for row in chosen}, key=_sixteen_first):
            line = [row for row in chosen if row["connections"] == connections]
            text.append(f"{_connections(connections)}, requests per second:\n")
            if connections == 16:
                text.append(f"![{title}]({storage}.svg)\n")
            text.append(_comparison(line, "per_second", "{:,.0f}", max))
            if connections == 16:
                text.append("16 connections, p99 latency in ms:\n")
                text.append(_comparison(line, "p99_ms", "{:.2f}", min))
            if connections == 1:
                text.append("One connection, median latency in ms:\n")
                text.append(_comparison(line, "p50_ms", "{:.2f}", min))
        text.append(f"<details><summary>{title}: all numbers</summary>\n")
        text.append(_details(chosen, about["durability"]))
        text.append("</details>\n")
    return "\n".join(text)


def _sixteen_first(connections: int) -> tuple[bool, int]:
    return connections != 16, connections


def _connections(count: int) -> str:
    return "One connection" if count == 1 else f"{count} connections"


def _about_text(about: Row, *, peers: bool = False, rounds: bool = True) -> str:
    versions = about["versions"].items()
    named = ", ".join(f"{name} {version}" for name, version in versions if peers or name in OURS)
    where = f"{about['date']}, {about['machine']}, Python {about['python']}"
    how = f", {about['rounds']}" if rounds else ""
    return f"{where}{how}. {named}.\n"


def _durability(about: Row, rows: Sequence[Row]) -> str:
    servers = list(dict.fromkeys(row["server"] for row in rows))
    return "".join(f"- {name}: {about['durability'][name]}\n" for name in servers)


Best = Callable[[Sequence[float]], float]


def _comparison(rows: Sequence[Row], field: str, form: str, best: Best) -> str:
    """Return a table of workloads and servers, and how Hashrange compares with the best peer."""
    servers = list(dict.fromkeys(row["server"] for row in rows))
    cells = {(row["workload"], row["server"]): row for row in rows}
    table = [["", *servers, "against the best peer"]]
    for workload in dict.fromkeys(row["workload"] for row in rows):
        # A line that was measured before another server took part has nothing of it.
        line = [cells.get((workload, server), {"server": server}) for server in servers]
        table.append(
            [
                WORKLOADS[workload],
                *(_cell(row, field, form) for row in line),
                _ratio(line, field, best),
            ]
        )
    return _table(table)


def _cell(row: Row, field: str, form: str) -> str:
    value = form.format(row[field]) if field in row else ""
    return " ".join(part for part in (value, f"({row['note']})" if "note" in row else "") if part)


def _ratio(rows: Sequence[Row], field: str, best: Best) -> str:
    ours = [row[field] for row in rows if row["server"] == OURS[0] and field in row]
    peers = [row[field] for row in rows if row["server"] not in OURS and field in row]
    return f"{best(ours) / best(peers):.1f} ×" if ours and peers else ""


def _details(rows: Sequence[Row], durability: dict[str, str]) -> str:
    head = ["workload", "connections", "server", "requests/s", "lowest–highest", "p50 ms", "p99 ms"]
    head += ["CPU µs/request", "memory MB", "cores: client", "others", "durability"]
    table = [head]
    for row in rows:
        if "p50_ms" not in row:
            continue
        table.append(
            [
                row["workload"],
                str(row["connections"]),
                row["server"],
                f"{row['per_second']:,.0f}",
                f"{row['lowest']:,.0f}–{row['highest']:,.0f}",
                f"{row['p50_ms']:.2f}",
                f"{row['p99_ms']:.2f}",
                f"{row['server_cpu_us']:,.0f}",
                f"{row['memory_mb']:,.0f}",
                f"{row['client_cores']:.2f}",
                f"{row['other_cores']:.2f}",
                durability[row["server"]] if row["storage"] == "disk" else "memory only",
            ]
        )
    return _table(table)


def _limits(results: Results) -> str:
    """Compare gets with HTTP alone, durable puts with SQLite alone."""
    table = [["", "connections", "server", "limit", "Hashrange", "share"]]
    for row in results["limits"]["rows"]:
        name = "GetItem, against an HTTP responder on the same stack that does nothing"
        if row["limit"] == "sqlite":
            batch = f"{row['batch']:.1f} puts per commit in both"
            name = f"durable PutItem, against SQLite alone, {batch}"
        limit, ours = row["per_second"], row["hashrange"]
        cells = [f"{limit:,.0f}", f"{ours:,.0f}", f"{row['share']:.0%}"]
        table.append([name, str(row["connections"]), row["server"], *cells])
    text = (
        "How near Hashrange comes to what the machine allows, in requests per second. The share is "
        "the median\nof those of each round, so it need not be that of the two medians:\n"
    )
    return "\n".join(
        ["## Against the limits\n", _about_text(results["limits"]["about"]), text, _table(table)]
    )


def _startup(results: Results) -> str:
    table = [["", "cold start to first answer, s", "idle memory, MB"]]
    table += [
        [row["server"], f"{row['start_seconds']:.2f}", f"{row['idle_mb']:.0f}"]
        for row in results["startup"]["rows"]
    ]
    return "## Start and idle memory\n\n" + _table(table)


def _growth(results: Results) -> str:
    growth = results["growth"]["rows"]
    small, large = sorted({row["items"] for row in growth["tables"]})
    rates = {(row["workload"], row["items"]): row["per_second"] for row in growth["tables"]}
    tables = [["requests per second", f"{small:,} items", f"{large:,} items", "cost"]]
    for workload in dict.fromkeys(row["workload"] for row in growth["tables"]):
        pair = rates[workload, small], rates[workload, large]
        line = [f"{pair[0]:,.0f}", f"{pair[1]:,.0f}", f"{pair[0] / pair[1]:.2f} ×"]
        tables.append([WORKLOADS[workload], *line])
    pages = [["pages of 20 per second", *(["", "", "cost"])]]
    partitions = growth["partitions"]
    counts = sorted({row["partition_items"] for row in partitions})
    pages[0][1:3] = [f"partition of {count:,}" for count in counts]
    for source, direction in dict.fromkeys((r["source"], r["direction"]) for r in partitions):
        pair = tuple(
            next(
                r["per_second"]
                for r in partitions
                if (r["source"], r["direction"], r["partition_items"]) == (source, direction, count)
            )
            for count in counts
        )
        cells = [f"{pair[0]:,.0f}", f"{pair[1]:,.0f}", f"{pair[0] / pair[1]:.2f} ×"]
        pages.append([f"Query of the {source}, {direction}", *cells])
    scan = growth["scan"]
    last = scan[-1]
    rate = last["items"] / last["seconds"]
    scanned = (
        f"A full Scan of {last['items']:,} items by one client took {last['seconds']:.0f} s "
        f"({rate:,.0f} items/s); memory was {scan[0]['memory_mb']:.0f} MB before and at most "
        f"{max(row['memory_mb'] for row in scan):.0f} MB during it.\n"
    )
    file_mb = max(row["file_mb"] for row in growth["tables"])
    size = f"The files of {large:,} items of 1 KB take {file_mb:,.0f} MB.\n"
    about = _about_text(results["growth"]["about"])
    image = "![Growth](growth.svg)\n"
    return "\n".join(["## Growth\n", about, image, _table(tables), _table(pages), scanned, size])


def _in_process(results: Results) -> str:
    rows = results["in_process"]["rows"]
    table = [["", "Hashrange, µs", "moto, µs", "faster by"]]
    for row in rows:
        cells = [f"{row['hashrange_us']:,.0f}", f"{row['moto_us']:,.0f}"]
        table.append([row["call"], *cells, f"{row['moto_us'] / row['hashrange_us']:.1f} ×"])
    text = "boto3 calls inside a test, with no server (see [testing](../guides/testing.md)):\n"
    return "\n".join(["## In-process, for tests\n", text, _table(table)])


def _soak(results: Results) -> str:
    soak = results["soak"]["rows"]
    rows = soak["rows"]
    head = ["minutes", "requests/s", "p50 ms", "quietest p99 ms", "median p99 ms", "worst p99 ms"]
    table = [[*head, "memory MB", "WAL MB", "files MB"]]
    step = max(1, len(rows) // 12)
    for start in range(0, len(rows), step):
        block = rows[start : start + step]
        found = {name: [row[name] for row in block] for name in block[0]}
        p99s = found["p99_ms"]
        cells = [median(found["per_second"]), median(found["p50_ms"])]
        cells += [min(p99s), median(p99s), max(p99s)]
        cells += [max(found[name]) for name in ("memory_mb", "wal_mb", "file_mb")]
        minutes = f"{block[0]['minute']} to {block[-1]['minute']}"
        table.append([minutes, *(f"{cell:,.2f}" for cell in cells)])
    text = (
        f"{len(rows)} minutes at {soak['rate']:,} requests per second, 80 % of the peak of "
        f"{soak['peak']:,.0f}, with 16 connections, on disk: 40 % get, 20 % query, 20 % update, "
        "20 % put. Medians of the minutes, and their greatest sizes. In a minute in which the disk "
        "stands still, requests that come at a fixed rate pile up: the quietest minutes tell "
        "whether the server itself slows down.\n"
    )
    about = _about_text(results["soak"]["about"], rounds=False)
    return "\n".join(["## Soak\n", about, text, "![Soak](soak.svg)\n", _table(table)])


def _neighbours(results: Results) -> str:
    rows = results["neighbours"]["rows"]
    by_case: dict[str, dict[int, Row]] = {}
    for row in rows:
        by_case.setdefault(row["case"], {})[row["workers"]] = row
    table = [["beside it", "p99 ms", "worst ms", "p99 ms", "worst ms"]]
    for case, found in by_case.items():
        cells = [f"{found[n][name]:,.1f}" for n in (1, 2) for name in ("p99_ms", "worst_ms")]
        table.append([case, *cells])
    text = (
        "A polite client sends a GetItem or a PutItem every 5 ms; `python -m bench.neighbours` has "
        "other clients send the costliest requests we know, on four connections if nothing else is "
        "said. First two columns: one worker; last two: two workers. On disk. The clients share "
        "the two cores with the server.\n"
    )
    about = _about_text(results["neighbours"]["about"])
    return "\n".join(["## Neighbours\n", about, text, _table(table)])


_SECTIONS: dict[str, Callable[[Results], str]] = {
    "throughput": _throughput,
    "limits": _limits,
    "startup": _startup,
    "growth": _growth,
    "in_process": _in_process,
    "neighbours": _neighbours,
    "soak": _soak,
}


def _plots(results: Results) -> dict[str, str]:
    found: dict[str, str] = {}
    rows = results.get("throughput", {"rows": []})["rows"]
    series = [kind.name for kind in KINDS]
    for storage, title in (("memory", "in memory"), ("disk", "on disk")):
        chosen = [r for r in rows if r["storage"] == storage and r["connections"] == 16]
        groups = [
            (
                WORKLOADS[workload],
                [
                    (r["server"], r.get("per_second"), _bar_text(r))
                    for r in chosen
                    if r["workload"] == workload
                ],
            )
            for workload in dict.fromkeys(r["workload"] for r in chosen)
            if workload not in SIZED
        ]
        if groups:
            name = f"Requests per second {title}, 16 connections"
            found[storage] = plots.bar_groups(name, series, groups)
    if "growth" in results:
        found["growth"] = _growth_plot(results["growth"]["rows"])
    if "soak" in results:
        found["soak"] = _soak_plot(results["soak"]["rows"]["rows"])
    return found


def _bar_text(row: Row) -> str:
    text = _cell(row, "per_second", "{:,.0f}")
    return text if "per_second" in row else f"{row['server']} {text}"


def _growth_plot(growth: Row) -> str:
    groups = [
        (
            WORKLOADS[workload],
            [
                (f"{r['items']:,} items", r["per_second"], f"{r['per_second']:,.0f}")
                for r in growth["tables"]
                if r["workload"] == workload
            ],
        )
        for workload in dict.fromkeys(r["workload"] for r in growth["tables"])
    ]
    series = list(dict.fromkeys(f"{r['items']:,} items" for r in growth["tables"]))
    title = "Requests per second in a small and in a large table, on disk"
    return plots.bar_groups(title, series, groups)


def _soak_plot(rows: Sequence[Row]) -> str:
    names = {
        "per_second": "requests/s",
        "p99_ms": "p99 ms",
        "memory_mb": "memory MB",
        "wal_mb": "WAL MB",
    }
    series = [
        (title, [(row["minute"], row[name]) for row in rows]) for name, title in names.items()
    ]
    return plots.bands("Soak", "minutes", series)


def _table(rows: Sequence[Sequence[str]]) -> str:
    head, *lines = rows
    ruler = ["---", *("---:" for _ in head[1:])]
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, ruler, *lines]) + "\n"
