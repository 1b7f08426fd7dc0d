/* SPDX-License-Identifier: BSD-3-Clause
 * Events: what a Sentinel tells of what it sees and does.
 *
 * An event is a line of the log, a message on the channel that has its name, and, where it is a
 * warning about a primary with a notification script, a call of that script. Names and texts are
 * those of Redis 6.2, because programs read them.
 */
#ifndef EVENKEEL_SENTINEL_EVENT_H
#define EVENKEEL_SENTINEL_EVENT_H

struct instance;
struct primary;

enum sentinel_event_name {
    EVENT_MONITOR,
    EVENT_MONITOR_END,
    EVENT_SET,
    EVENT_RESET_MASTER,
    EVENT_SDOWN,
    EVENT_SDOWN_END,
    EVENT_ODOWN,
    EVENT_ODOWN_END,
    EVENT_TRY_FAILOVER,
    EVENT_ELECTED_LEADER,
    EVENT_ABORT_NOT_ELECTED,
    EVENT_ABORT_NO_GOOD_SLAVE,
    EVENT_ABORT_SLAVE_TIMEOUT,
    EVENT_STATE_SELECT_SLAVE,
    EVENT_STATE_SEND_SLAVEOF_NOONE,
    EVENT_STATE_WAIT_PROMOTION,
    EVENT_STATE_RECONF_SLAVES,
    EVENT_FAILOVER_END,
    EVENT_FAILOVER_END_FOR_TIMEOUT,
    EVENT_SELECTED_SLAVE,
    EVENT_PROMOTED_SLAVE,
    EVENT_CONFIG_UPDATE_FROM,
    EVENT_NEW_EPOCH,
    EVENT_VOTE_FOR_LEADER,
    EVENT_SWITCH_MASTER,
    EVENT_SLAVE,
    EVENT_SENTINEL,
    EVENT_REBOOT,
    EVENT_CONVERT_TO_SLAVE,
    EVENT_FIX_SLAVE_CONFIG,
    EVENT_SLAVE_RECONF_SENT,
    EVENT_SLAVE_RECONF_SENT_BE,
    EVENT_SLAVE_RECONF_INPROG,
    EVENT_SLAVE_RECONF_DONE,
    EVENT_SLAVE_RECONF_SENT_TIMEOUT,
    EVENT_SENTINEL_INVALID_ADDR,
    EVENT_SENTINEL_ADDRESS_SWITCH,
    EVENT_SENTINEL_ADDRESS_UPDATE,
    EVENT_ROLE_CHANGE,
    EVENT_ROLE_CHANGE_MISMATCH,
    EVENT_TILT,
    EVENT_TILT_END,
    EVENT_SCRIPT_ERROR,
    EVENT_SCRIPT_TIMEOUT,
    EVENT_SCRIPT_CHILD,
    EVENT_SCRIPT_CHILD_END,
    EVENT_CMD_LINK_RECONNECTION,
    EVENT_PUBSUB_LINK_RECONNECTION,
};

/* Tells the event. `instance` is what it is about, NULL = nothing that is watched. Its text begins
 * with the instance (instance_show) where the event's row says so; then, after a blank, comes what
 * `format` gives, NULL = nothing. The message may mark clients as closing (pubsub_deliver). */
void sentinel_event(enum sentinel_event_name name, const struct instance *instance,
                    const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Sets the function that is called with each warning about a primary, or about what belongs to it:
 * with the primary, the event's name and its text. */
void sentinel_event_set_notifier(void (*notify)(const struct primary *primary, const char *event,
                                                const char *text));
#endif
