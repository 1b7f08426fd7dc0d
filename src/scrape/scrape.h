/* SPDX-License-Identifier: BSD-3-Clause
 * metrics-port: serves the metric rows over HTTP, as text that Prometheus reads.
 *
 * Scrapes are connections of their own kind: they are no clients, do not count for maxclients, and
 * are bounded in number, bytes and time (scrape.c).
 */
#ifndef EVENKEEL_SCRAPE_SCRAPE_H
#define EVENKEEL_SCRAPE_SCRAPE_H

struct child_observer;
struct loop;

/* Registers options and metrics, and the kind of listener; after listen_register. */
void scrape_register(void);
/* Sets the loop of the connections; before listen_open. */
void scrape_open(struct loop *loop);
/* Closes all connections. */
void scrape_close(void);
/* Closes a forked child's copies of the sockets. */
extern const struct child_observer scrape_child_observer;
#endif
