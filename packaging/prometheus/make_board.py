#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes the Grafana board and the alert rules, from this table and from the server's rows.

usage: make_board.py --write|--check REDIS_SERVER

A panel is a title, a unit, and queries; its description is made of the help that the server's rows
have for the metrics that its queries name (redis-server --describe-scrape). A query that names a
metric that the server does not have, rates a gauge, or shows a counter that is not rated is
refused; where promtool is at hand (Debian: prometheus), Prometheus' own parser reads all queries
and the alert rules, too. In queries {s} stands for the selection of instances, and {r} for the time
over which a rate is taken.
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
RATE = "rate(evenkeel_%s{s}[{r}])"
QUANTILE = "histogram_quantile(%s, sum by (instance, le) (rate(evenkeel_%s_bucket{s}[{r}])))"
FELT = QUANTILE.replace("evenkeel_%s", "evenkeel_command_felt_seconds")
CAUSE = 'rate(evenkeel_main_thread_seconds_total{s,cause="%s"}[{r}])'

# Heading, then panels: title, unit, queries (expression, legend).
ROWS = [
    (
        "What clients feel",
        [
            (
                "Time that clients feel",
                "s",
                [
                    (FELT % q, "p" + n)
                    for q, n in (("0.5", "50"), ("0.99", "99"), ("0.999", "99.9"))
                ],
            ),
            (
                "Commands",
                "ops",
                [
                    (RATE % "commands_processed_total", "all"),
                    ("topk(5, rate(evenkeel_command_calls_total{s}[{r}]))", "{{cmd}}"),
                ],
            ),
            (
                "What the main thread does",
                "percentunit",
                [('rate(evenkeel_main_thread_seconds_total{s,cause!="idle"}[{r}])', "{{cause}}")],
            ),
            (
                "Clients",
                "short",
                [
                    ("evenkeel_connected_clients{s}", "connected"),
                    ("evenkeel_blocked_clients{s}", "blocked"),
                    (RATE % "rejected_connections_total", "refused a second"),
                ],
            ),
            ("Errors", "ops", [("rate(evenkeel_errors_total{s}[{r}])", "{{err}}")]),
            (
                "Memory",
                "bytes",
                [
                    ("evenkeel_used_memory_rss_bytes{s}", "of the process"),
                    ("evenkeel_used_memory_bytes{s}", "in use"),
                    ("evenkeel_mem_dataset_bytes{s}", "dataset"),
                    ("evenkeel_maxmemory_bytes{s}", "maxmemory"),
                ],
            ),
        ],
    ),
    (
        "1. Eviction burst",
        [
            ("Evicted keys", "ops", [(RATE % "evicted_keys_total", "a second")]),
            ("Main thread in eviction", "percentunit", [(CAUSE % "eviction", "share of time")]),
            (
                "Over maxmemory",
                "bytes",
                [
                    ("evenkeel_maxmemory_overshoot_bytes{s}", "now"),
                    ("evenkeel_maxmemory_overshoot_peak_bytes{s}", "peak"),
                ],
            ),
            (
                "Memory of clients",
                "bytes",
                [
                    ("evenkeel_mem_clients_normal_bytes{s}", "clients"),
                    ("evenkeel_mem_clients_slaves_bytes{s}", "replicas"),
                ],
            ),
        ],
    ),
    (
        "2. Stale keys",
        [
            ("Keys that are due", "short", [("evenkeel_expire_due_backlog{s}", "due")]),
            (
                "Time from deadline to deletion",
                "s",
                [
                    (
                        QUANTILE % ("0.99", "expire_lag_seconds"),
                        "p99",
                    )
                ],
            ),
            ("Expired keys", "ops", [(RATE % "expired_keys_total", "a second")]),
            ("Main thread in expiry", "percentunit", [(CAUSE % "expiry", "share of time")]),
        ],
    ),
    (
        "3. Resize stall",
        [
            ("Keys", "short", [("evenkeel_db_keys{s}", "{{db}}")]),
            (
                "Memory of hash tables",
                "bytes",
                [("evenkeel_mem_overhead_hashtables_bytes{s}", "tables")],
            ),
            ("Tables that owe work", "short", [("evenkeel_hashtables_owing{s}", "tables")]),
            (
                "Main thread in tables, and freeing",
                "percentunit",
                [(CAUSE % "tables", "tables"), (CAUSE % "freeing", "freeing")],
            ),
        ],
    ),
    (
        "4. Off-CPU stall",
        [
            (
                "Off CPU",
                "percentunit",
                [
                    (RATE % "main_thread_off_cpu_seconds_total", "not running"),
                    (RATE % "main_thread_run_delay_seconds_total", "waits for a processor"),
                ],
            ),
            (
                "Longest turn off CPU",
                "s",
                [("evenkeel_main_thread_off_cpu_turn_max_seconds{s}", "since CONFIG RESETSTAT")],
            ),
            (
                "Steal, and throttling",
                "percentunit",
                [
                    (RATE % "host_steal_seconds_total", "hypervisor"),
                    (RATE % "cgroup_throttled_seconds_total", "CPU quota"),
                ],
            ),
            (
                "CPU time of a turn",
                "s",
                [
                    (
                        QUANTILE % ("0.999", "eventloop_turn_cpu_seconds"),
                        "p99.9",
                    )
                ],
            ),
        ],
    ),
    (
        "5. Snapshot stall",
        [
            (
                "Save under way",
                "percentunit",
                [
                    ("evenkeel_current_fork_ratio{s}", "saved"),
                    (CAUSE % "fork", "main thread in fork"),
                    (CAUSE % "persistence", "main thread in saving"),
                ],
            ),
            ("Last fork", "s", [("evenkeel_latest_fork_seconds{s}", "fork")]),
            (
                "Copied while saving",
                "bytes",
                [
                    ("evenkeel_current_cow_size_bytes{s}", "on write, by a child"),
                    ("evenkeel_walk_waiting_bytes{s}", "by a walk, not written yet"),
                ],
            ),
            (
                "Age of the last snapshot",
                "s",
                [
                    (
                        "evenkeel_server_time_seconds{s} - evenkeel_rdb_last_save_time_seconds{s}",
                        "age",
                    )
                ],
            ),
        ],
    ),
    (
        "6. Slow disk",
        [
            (
                "Bytes that wait to be logged",
                "bytes",
                [("evenkeel_aof_buffer_length_bytes{s}", "queue")],
            ),
            (
                "Writers that waited for the disk",
                "ops",
                [(RATE % "aof_delayed_fsync_total", "a second")],
            ),
            (
                "Log",
                "bytes",
                [
                    ("evenkeel_aof_current_size_bytes{s}", "now"),
                    ("evenkeel_aof_base_size_bytes{s}", "after its last rewrite"),
                ],
            ),
            (
                "Last write, and last save",
                "short",
                [
                    ("evenkeel_aof_last_write_status{s}", "log: 1 = good"),
                    ("evenkeel_rdb_last_bgsave_status{s}", "snapshot: 1 = good"),
                ],
            ),
        ],
    ),
    (
        "Replication",
        [
            (
                "Behind",
                "bytes",
                [
                    (
                        "evenkeel_master_repl_offset{s} - on(instance) group_right "
                        "evenkeel_replica_offset{s}",
                        "{{address}}",
                    )
                ],
            ),
            ("Replicas heard", "s", [("evenkeel_replica_lag_seconds{s}", "{{address}}")]),
            (
                "Copies",
                "ops",
                [
                    (RATE % "sync_full_total", "whole"),
                    (RATE % "sync_partial_ok_total", "continued"),
                ],
            ),
            ("Link to the primary", "short", [("evenkeel_master_link_status{s}", "1 = up")]),
        ],
    ),
    (
        "Scrapes",
        [
            ("Cost of scrapes", "percentunit", [(RATE % "metrics_seconds_total", "main thread")]),
            (
                "Scrapes",
                "ops",
                [
                    (RATE % "metrics_scrapes_total", "answered"),
                    (RATE % "metrics_refused_total", "refused"),
                ],
            ),
        ],
    ),
]

# Name, expression, how long it must hold, severity, what it says, what to do.
ALERTS = [
    (
        "EvenkeelDown",
        'up{job="evenkeel"} == 0',
        "1m",
        "critical",
        "The server does not answer scrapes.",
        "Look at its log.",
    ),
    (
        "EvenkeelSlowForClients",
        FELT % "0.99" + " > 0.05",
        "5m",
        "warning",
        "One in a hundred commands takes more than 50 ms for its client.",
        "LATENCY DOCTOR and SLOWLOG EXPLAIN say where the time goes.",
    ),
    (
        "EvenkeelEvictionBurst",
        CAUSE % "eviction" + " > 0.25",
        "1m",
        "warning",
        "Eviction takes more than a quarter of the main thread.",
        "Lower maxmemory-eviction-cpu-budget, or give the data more memory.",
    ),
    (
        "EvenkeelOverMaxmemory",
        "evenkeel_maxmemory_overshoot_bytes{s} > 0.05 * evenkeel_maxmemory_bytes{s} "
        "and evenkeel_maxmemory_bytes{s} > 0",
        "5m",
        "warning",
        "Memory is more than 5 % over maxmemory.",
        "Raise maxmemory-eviction-cpu-budget; maxmemory-ceiling bounds the excess.",
    ),
    (
        "EvenkeelStaleKeys",
        "evenkeel_expired_stale_ratio{s} > 0.1",
        "10m",
        "warning",
        "More than a tenth of the keys with a deadline are due and not deleted.",
        "Set active-expire-algorithm deadline, or raise active-expire-effort.",
    ),
    (
        "EvenkeelTableWork",
        CAUSE % "tables" + " > 0.1",
        "5m",
        "warning",
        "Work on hash tables takes more than a tenth of the main thread.",
        "If the number of keys falls and rises each day, set resize-hashtables no.",
    ),
    (
        "EvenkeelOffCpu",
        RATE % "main_thread_off_cpu_seconds_total" + " > 0.1",
        "5m",
        "warning",
        "The main thread could not run for a tenth of the time.",
        "Look for other work on its processors, a quota, or a hypervisor that gives them away.",
    ),
    (
        "EvenkeelThrottled",
        RATE % "cgroup_throttled_seconds_total" + " > 0.01",
        "5m",
        "warning",
        "The control group's CPU quota keeps threads from running.",
        "Raise the container's CPU limit.",
    ),
    (
        "EvenkeelForkStall",
        "evenkeel_latest_fork_seconds{s} > 0.1",
        "0m",
        "warning",
        "The last fork held up all clients for more than 100 ms.",
        "Set snapshot-method walk, which needs no child.",
    ),
    (
        "EvenkeelCopyOnWrite",
        "evenkeel_current_cow_size_bytes{s} > 0.5 * evenkeel_used_memory_bytes{s}",
        "1m",
        "warning",
        "A save has copied half as much memory as is in use.",
        "Set snapshot-method walk, or save when there are fewer writes.",
    ),
    (
        "EvenkeelSaveFailed",
        "evenkeel_rdb_last_bgsave_status{s} == 0",
        "1m",
        "critical",
        "The last snapshot could not be saved.",
        "Look at the log, at the disk's space and at rights.",
    ),
    (
        "EvenkeelSlowDisk",
        RATE % "aof_delayed_fsync_total" + " > 0",
        "5m",
        "warning",
        "Writers wait because the disk of the append only file is slow.",
        "Set aof-write-thread yes, or move the file to another disk.",
    ),
    (
        "EvenkeelLogFailed",
        "evenkeel_aof_last_write_status{s} == 0",
        "1m",
        "critical",
        "The append only file cannot be written.",
        "Look at the log, at the disk's space and at rights.",
    ),
    (
        "EvenkeelLinkDown",
        "evenkeel_master_link_status{s} == 0",
        "2m",
        "critical",
        "The replica has no link to its primary.",
        "Look at both logs.",
    ),
]


def read_rows(server):
    """The kind and the help of each metric that the server can have."""
    text = subprocess.run(
        [server, "--describe-scrape"], capture_output=True, text=True, check=True
    ).stdout
    return {
        m[1]: (m[2], m[4].replace("\\|", "|"))
        for m in re.finditer(r"^\| `(evenkeel_\w+)` \| (\w+) \| `([^`]+)` \| (.*) \|$", text, re.M)
    }


def check(expression, rows):
    """The metrics that an expression names; exits if the server has one of them not, or not so."""
    names = []
    for m in re.finditer(r"(rate\()?(evenkeel_\w+)", expression):
        rated, name = m[1], m[2]
        if name not in rows and name.endswith("_bucket"):
            name = name[: -len("_bucket")]
            if rows.get(name, ("",))[0] != "histogram":
                sys.exit(f"{name} is no histogram: {expression}")
        if name not in rows:
            sys.exit(f"the server has no {name}: {expression}")
        if bool(rated) == (rows[name][0] == "gauge"):
            sys.exit(f"{name} is a {rows[name][0]}: {expression}")
        if name not in names:
            names.append(name)
    return names


def fill(expression, selection, time):
    text = expression.replace("{s,", "{" + selection + "," if selection else "{")
    return text.replace("{s}", "{" + selection + "}" if selection else "").replace("{r}", time)


def make_panel(number, place, title, unit, queries, rows):
    names = sum((check(expression, rows) for expression, _ in queries), [])
    source = {"type": "prometheus", "uid": "${source}"}
    return {
        "id": number,
        "type": "timeseries",
        "title": title,
        "gridPos": place,
        "datasource": source,
        "description": "\n\n".join(f"`{name}`: {rows[name][1]}" for name in dict.fromkeys(names)),
        "fieldConfig": {
            "defaults": {
                "unit": unit,
                "min": 0,
                "custom": {
                    "drawStyle": "line",
                    "lineWidth": 1,
                    "fillOpacity": 10,
                    "showPoints": "never",
                    "spanNulls": False,
                },
            },
            "overrides": [],
        },
        "options": {
            "legend": {
                "displayMode": "list",
                "placement": "bottom",
                "showLegend": True,
                "calcs": [],
            },
            "tooltip": {"mode": "multi", "sort": "desc"},
        },
        "targets": [
            {
                "refId": chr(ord("A") + i),
                "datasource": source,
                "expr": fill(expression, 'instance=~"$instance"', "$__rate_interval"),
                "legendFormat": "{{instance}} " + legend,
                "range": True,
            }
            for i, (expression, legend) in enumerate(queries)
        ],
    }


def make_board(rows):
    panels, y = [], 0
    for heading, members in ROWS:
        panels.append(
            {
                "id": len(panels) + 1,
                "type": "row",
                "title": heading,
                "collapsed": False,
                "panels": [],
                "gridPos": {"h": 1, "w": 24, "x": 0, "y": y},
            }
        )
        y += 1
        for i, (title, unit, queries) in enumerate(members):
            place = {"h": 8, "w": 12, "x": 12 * (i % 2), "y": y + 8 * (i // 2)}
            panels.append(make_panel(len(panels) + 1, place, title, unit, queries, rows))
        y += 8 * ((len(members) + 1) // 2)
    variables = [
        {"name": "source", "label": "Source", "type": "datasource", "query": "prometheus"},
        {
            "name": "instance",
            "label": "Instance",
            "type": "query",
            "datasource": {"type": "prometheus", "uid": "${source}"},
            "query": "label_values(evenkeel_uptime_in_seconds, instance)",
            "refresh": 2,
            "multi": True,
            "includeAll": True,
            "allValue": ".*",
            "sort": 1,
        },
    ]
    return {
        "uid": "evenkeel",
        "title": "Evenkeel",
        "tags": ["evenkeel", "redis"],
        "schemaVersion": 39,
        "version": 1,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "timezone": "",
        "templating": {"list": variables},
        "annotations": {"list": []},
        "links": [],
        "panels": panels,
    }


def make_alerts(rows):
    lines = [
        "# Made by packaging/prometheus/make_board.py; `make generated` writes it anew.",
        "groups:",
        "  - name: evenkeel",
        "    rules:",
    ]
    for name, expression, time, severity, summary, advice in ALERTS:
        check(expression, rows)
        lines += [
            f"      - alert: {name}",
            f"        expr: {json.dumps(fill(expression, '', '5m'))}",
            f"        for: {time}",
            "        labels:",
            f"          severity: {severity}",
            "        annotations:",
            f"          summary: {json.dumps('{{ $labels.instance }}: ' + summary)}",
            f"          description: {json.dumps(advice)}",
        ]
    return "\n".join(lines) + "\n"


def read_with_promtool(alerts):
    """Whether Prometheus' parser takes the alerts, and the board's queries as recording rules."""
    queries = [
        {"record": f"query:{number}", "expr": fill(expression, 'instance=~".*"', "5m")}
        for number, expression in enumerate(
            expression for _, members in ROWS for *_, some in members for expression, _ in some
        )
    ]
    texts = (alerts, json.dumps({"groups": [{"name": "board", "rules": queries}]}))
    for text in texts if shutil.which("promtool") else ():
        with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
            file.write(text)
            file.flush()
            done = subprocess.run(
                ["promtool", "check", "rules", file.name], capture_output=True, text=True
            )
        if done.returncode:
            print(f"promtool: {done.stdout}{done.stderr}")
            return False
    return True


def main():
    mode, server = sys.argv[1:]
    rows = read_rows(server)
    files = {
        "evenkeel-board.json": json.dumps(make_board(rows), indent=1) + "\n",
        "evenkeel-alerts.yml": make_alerts(rows),
    }
    status = 0 if read_with_promtool(files["evenkeel-alerts.yml"]) else 1
    for name, text in files.items():
        path = HERE / name
        if path.exists() and path.read_text() == text:
            continue
        if mode == "--write":
            path.write_text(text)
        else:
            print(
                f"packaging/prometheus/{name} is not what make_board.py makes; "
                "'make generated' writes it"
            )
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
