# SPDX-License-Identifier: BSD-3-Clause
"""The plots of the lab's report: one figure a case, a row a server, a column a panel.

The rows share each column's scale, so that the servers can be compared by eye, and stand above one
another with the same seconds. Shown is the round whose longest gap is the median one.
"""
import io

import matplotlib

matplotlib.use('Agg')
import matplotlib.pyplot as plot  # noqa: E402
import numpy  # noqa: E402

import figures  # noqa: E402

GREY, BLUE, ORANGE, GREEN, RED, PURPLE = ('#9a9a9a', '#1f6fb4', '#e08214', '#2a8f5c', '#c0392b',
                                          '#7a4fa3')
STYLE = {'font.size': 9, 'axes.spines.top': False, 'axes.spines.right': False,
         'axes.grid': True, 'grid.color': '#e6e6e6', 'axes.axisbelow': True,
         'legend.frameon': False, 'legend.fontsize': 8, 'svg.fonttype': 'none',
         'font.family': 'DejaVu Sans', 'axes.titlesize': 10}


def _thousands(axis):
    axis.yaxis.set_major_formatter(matplotlib.ticker.FuncFormatter(
        lambda value, _: f'{value / 1e6:g}M' if value >= 1e6 else
        f'{value / 1e3:g}k' if value >= 1e3 else f'{value:g}'))


def draw_flow(axis, data, columns):
    seconds = columns['seconds']
    axis.fill_between(seconds, columns['replies_per_s'], step='post', color=BLUE, alpha=0.55,
                      linewidth=0, label='replies/s')
    axis.step(seconds, columns['arrivals_per_s'], where='post', color='black', linewidth=0.8,
              label='arrivals/s')
    _thousands(axis)


def draw_latency(axis, data, columns, prefix=''):
    for key, colour, width in (('max', '#f2b6b0', 0.9), ('p99.9', RED, 1), ('p99', ORANGE, 1),
                               ('p50', BLUE, 1.2)):
        values = columns[f'{prefix}{key}_ms']
        axis.plot(columns['seconds'], numpy.maximum(values, 0.02), color=colour, linewidth=width,
                  label=key)
    axis.set_yscale('log')
    axis.yaxis.set_minor_formatter(matplotlib.ticker.NullFormatter())
    axis.yaxis.set_major_formatter(matplotlib.ticker.FuncFormatter(
        lambda value, _: f'{value / 1e3:g} s' if value >= 1e3 else f'{value:g} ms'))


def draw_probe(axis, data, columns):
    draw_latency(axis, data, columns, 'probe_')


def _draw_rate(axis, data, name, colour, label):
    moments, rates = figures.rate(data, name)
    if moments is not None:
        axis.fill_between(moments, rates, step='pre', color=colour, alpha=0.7, linewidth=0,
                          label=label)
    _thousands(axis)


def draw_evictions(axis, data, columns):
    _draw_rate(axis, data, 'evicted_keys', RED, 'evicted/s')


def draw_expired(axis, data, columns):
    _draw_rate(axis, data, 'expired_keys', PURPLE, 'expired/s')


def draw_memory(axis, data, columns):
    used, clients = data.field('used_memory'), data.field('mem_clients_normal')
    if used is None:
        return
    clients = numpy.zeros_like(used) if clients is None else numpy.nan_to_num(clients)
    axis.fill_between(data.at, (used - clients) / 1e6, color=GREEN, alpha=0.55, linewidth=0,
                      label='data')
    axis.fill_between(data.at, (used - clients) / 1e6, used / 1e6, color=ORANGE, alpha=0.9,
                      linewidth=0, label='clients')
    if data.run['maxmemory']:
        axis.axhline(data.run['maxmemory'] / 1e6, color='black', linewidth=0.8, linestyle='--',
                     label='maxmemory')
    axis.yaxis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda v, _: f'{v:g} MB'))


def draw_fragmentation(axis, data, columns):
    used, resident = data.field('used_memory'), data.field('used_memory_rss')
    if used is not None:
        axis.plot(data.at, resident / used, color=RED, linewidth=1.2, label='RSS by used memory')
        axis.axhline(1, color='black', linewidth=0.8, linestyle='--')


def draw_keys(axis, data, columns):
    keys = data.field('keys')
    if keys is not None:
        axis.plot(data.at, keys, color=BLUE, linewidth=1.2, label='keys')
    _thousands(axis)


def draw_hits(axis, data, columns):
    axis.plot(columns['seconds'], columns['hits_%'], color=GREEN, linewidth=1, label='hits, %')


def draw_dead(axis, data, columns):
    dead, due = figures.dead_held(data)
    if dead is not None:
        axis.fill_between(data.at, dead, color=PURPLE, alpha=0.65, linewidth=0,
                          label='dead keys held')
        axis.plot(data.at, due, color='black', linewidth=0.8, linestyle='--',
                  label='due so far')
    _thousands(axis)


PANELS = {'flow': ('Throughput', draw_flow), 'latency': ('Latency from the due time', draw_latency),
          'probe': ('PING each millisecond', draw_probe),
          'evictions': ('Evictions', draw_evictions), 'memory': ('Memory', draw_memory),
          'dead': ('Dead keys', draw_dead), 'expired': ('Expired', draw_expired),
          'fragmentation': ('Resident memory', draw_fragmentation), 'keys': ('Keys', draw_keys),
          'hits': ('Hit ratio', draw_hits)}


def _mark(axis, data):
    """Events as stripes, the parts that the figures leave out in grey, phases parted by lines."""
    zero = data.run['phases'][0]['started_monotonic_nsec'] / 1e9
    for phase in data.run['phases']:
        for event in phase['events']:
            axis.axvspan(event['began'] - zero, event['ended'] - zero, color='#ffe9a8',
                         zorder=0)
    if data.begin:
        axis.axvspan(0, data.begin, color='#f0f0f0', zorder=0)
    for _, began, _ in data.spans[1:]:
        axis.axvline(began, color=GREY, linewidth=0.8, linestyle=':')


def case_figure(case, shown, path_png=None):
    """SVG text of a case. shown: [(label, data, columns)], one a server."""
    panels = [PANELS[name] for name in case['panels']]
    with plot.rc_context(STYLE):
        sheet, grid = plot.subplots(len(shown), len(panels), sharex=True, sharey='col',
                                    squeeze=False,
                                    figsize=(3.9 * len(panels), 1.2 + 1.75 * len(shown)))
        for row, (label, data, columns) in enumerate(shown):
            for column, (title, draw) in enumerate(panels):
                axis = grid[row][column]
                draw(axis, data, columns)
                _mark(axis, data)
                if row == 0:
                    axis.set_title(title, loc='left', fontweight='bold', pad=20)
                    axis.legend(loc='lower left', bbox_to_anchor=(-0.02, 0.98), ncols=4,
                                handlelength=1, columnspacing=0.8)
                if row + 1 == len(shown):
                    axis.set_xlabel('seconds')
            grid[row][0].set_ylabel(label, fontweight='bold')
        for column in range(len(panels)):
            if PANELS[case['panels'][column]][1] in (draw_latency, draw_probe):
                grid[0][column].set_ylim(0.05, max(100, grid[0][column].get_ylim()[1]))
            else:
                grid[0][column].set_ylim(bottom=0)
            grid[0][column].set_xlim(0, max(data.end for _, data, _ in shown))
        sheet.tight_layout()
        text = io.StringIO()
        sheet.savefig(text, format='svg')
        if path_png:
            sheet.savefig(path_png, dpi=80)
        plot.close(sheet)
    return text.getvalue()[text.getvalue().index('<svg'):]
