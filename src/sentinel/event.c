/* SPDX-License-Identifier: BSD-3-Clause
 * Events: a row each.
 */
#include "sentinel/event.h"

#include <stdarg.h>
#include <stdbool.h>

#include "base/log.h"
#include "base/panic.h"
#include "publish/pubsub.h"
#include "sentinel/instance.h"

/* Whether the text begins with the instance. */
enum event_form { TEXT_ALONE, INSTANCE_FIRST };

/* The level decides three things: how the line is logged; a message is published at all levels but
 * debug; the notifier is called for warnings. */
static const struct event_row {
    const char *name;
    enum log_level level;
    enum event_form form;
} event_rows[] = {
    [EVENT_MONITOR] = {"+monitor", LOG_LEVEL_WARNING, INSTANCE_FIRST},
    [EVENT_MONITOR_END] = {"-monitor", LOG_LEVEL_WARNING, INSTANCE_FIRST},
    [EVENT_SET] = {"+set", LOG_LEVEL_WARNING, INSTANCE_FIRST},
    [EVENT_RESET_MASTER] = {"+reset-master", LOG_LEVEL_WARNING, INSTANCE_FIRST},
    [EVENT_SDOWN] = {"+sdown", LOG_LEVEL_WARNING, INSTANCE_FIRST},
    [EVENT_SDOWN_END] = {"-sdown", LOG_LEVEL_WARNING, INSTANCE_FIRST},
    [EVENT_ODOWN] = {"+odown", LOG_LEVEL_WARNING, INSTANCE_FIRST},
    [EVENT_ODOWN_END] = {"-odown", LOG_LEVEL_WARNING, INSTANCE_FIRST},
    [EVENT_TRY_FAILOVER] = {"+try-failover", LOG_LEVEL_WARNING, INSTANCE_FIRST},
    [EVENT_ELECTED_LEADER] = {"+elected-leader", LOG_LEVEL_WARNING, INSTANCE_FIRST},
    [EVENT_ABORT_NOT_ELECTED] = {"-failover-abort-not-elected", LOG_LEVEL_WARNING, INSTANCE_FIRST},
    [EVENT_ABORT_NO_GOOD_SLAVE] = {"-failover-abort-no-good-slave", LOG_LEVEL_WARNING,
                                   INSTANCE_FIRST},
    [EVENT_ABORT_SLAVE_TIMEOUT] = {"-failover-abort-slave-timeout", LOG_LEVEL_WARNING,
                                   INSTANCE_FIRST},
    [EVENT_STATE_SELECT_SLAVE] = {"+failover-state-select-slave", LOG_LEVEL_WARNING,
                                  INSTANCE_FIRST},
    [EVENT_STATE_SEND_SLAVEOF_NOONE] = {"+failover-state-send-slaveof-noone", LOG_LEVEL_NOTICE,
                                        INSTANCE_FIRST},
    [EVENT_STATE_WAIT_PROMOTION] = {"+failover-state-wait-promotion", LOG_LEVEL_NOTICE,
                                    INSTANCE_FIRST},
    [EVENT_STATE_RECONF_SLAVES] = {"+failover-state-reconf-slaves", LOG_LEVEL_WARNING,
                                   INSTANCE_FIRST},
    [EVENT_FAILOVER_END] = {"+failover-end", LOG_LEVEL_WARNING, INSTANCE_FIRST},
    [EVENT_FAILOVER_END_FOR_TIMEOUT] = {"+failover-end-for-timeout", LOG_LEVEL_WARNING,
                                        INSTANCE_FIRST},
    [EVENT_SELECTED_SLAVE] = {"+selected-slave", LOG_LEVEL_WARNING, INSTANCE_FIRST},
    [EVENT_PROMOTED_SLAVE] = {"+promoted-slave", LOG_LEVEL_WARNING, INSTANCE_FIRST},
    [EVENT_CONFIG_UPDATE_FROM] = {"+config-update-from", LOG_LEVEL_WARNING, INSTANCE_FIRST},
    [EVENT_NEW_EPOCH] = {"+new-epoch", LOG_LEVEL_WARNING, TEXT_ALONE},
    [EVENT_VOTE_FOR_LEADER] = {"+vote-for-leader", LOG_LEVEL_WARNING, TEXT_ALONE},
    [EVENT_SWITCH_MASTER] = {"+switch-master", LOG_LEVEL_WARNING, TEXT_ALONE},
    [EVENT_SLAVE] = {"+slave", LOG_LEVEL_NOTICE, INSTANCE_FIRST},
    [EVENT_SENTINEL] = {"+sentinel", LOG_LEVEL_NOTICE, INSTANCE_FIRST},
    [EVENT_REBOOT] = {"+reboot", LOG_LEVEL_NOTICE, INSTANCE_FIRST},
    [EVENT_CONVERT_TO_SLAVE] = {"+convert-to-slave", LOG_LEVEL_NOTICE, INSTANCE_FIRST},
    [EVENT_FIX_SLAVE_CONFIG] = {"+fix-slave-config", LOG_LEVEL_NOTICE, INSTANCE_FIRST},
    [EVENT_SLAVE_RECONF_SENT] = {"+slave-reconf-sent", LOG_LEVEL_NOTICE, INSTANCE_FIRST},
    [EVENT_SLAVE_RECONF_SENT_BE] = {"+slave-reconf-sent-be", LOG_LEVEL_NOTICE, INSTANCE_FIRST},
    [EVENT_SLAVE_RECONF_INPROG] = {"+slave-reconf-inprog", LOG_LEVEL_NOTICE, INSTANCE_FIRST},
    [EVENT_SLAVE_RECONF_DONE] = {"+slave-reconf-done", LOG_LEVEL_NOTICE, INSTANCE_FIRST},
    [EVENT_SLAVE_RECONF_SENT_TIMEOUT] = {"-slave-reconf-sent-timeout", LOG_LEVEL_NOTICE,
                                         INSTANCE_FIRST},
    [EVENT_SENTINEL_INVALID_ADDR] = {"+sentinel-invalid-addr", LOG_LEVEL_NOTICE, INSTANCE_FIRST},
    [EVENT_SENTINEL_ADDRESS_SWITCH] = {"+sentinel-address-switch", LOG_LEVEL_NOTICE,
                                       INSTANCE_FIRST},
    [EVENT_SENTINEL_ADDRESS_UPDATE] = {"+sentinel-address-update", LOG_LEVEL_NOTICE,
                                       INSTANCE_FIRST},
    [EVENT_ROLE_CHANGE] = {"+role-change", LOG_LEVEL_VERBOSE, INSTANCE_FIRST},
    [EVENT_ROLE_CHANGE_MISMATCH] = {"-role-change", LOG_LEVEL_VERBOSE, INSTANCE_FIRST},
    [EVENT_TILT] = {"+tilt", LOG_LEVEL_WARNING, TEXT_ALONE},
    [EVENT_TILT_END] = {"-tilt", LOG_LEVEL_WARNING, TEXT_ALONE},
    [EVENT_SCRIPT_ERROR] = {"-script-error", LOG_LEVEL_WARNING, TEXT_ALONE},
    [EVENT_SCRIPT_TIMEOUT] = {"-script-timeout", LOG_LEVEL_WARNING, TEXT_ALONE},
    [EVENT_SCRIPT_CHILD] = {"+script-child", LOG_LEVEL_DEBUG, TEXT_ALONE},
    [EVENT_SCRIPT_CHILD_END] = {"-script-child", LOG_LEVEL_DEBUG, TEXT_ALONE},
    [EVENT_CMD_LINK_RECONNECTION] = {"-cmd-link-reconnection", LOG_LEVEL_DEBUG, INSTANCE_FIRST},
    [EVENT_PUBSUB_LINK_RECONNECTION] = {"-pubsub-link-reconnection", LOG_LEVEL_DEBUG,
                                        INSTANCE_FIRST},
};

static void (*notifier)(const struct primary *primary, const char *event, const char *text);

void sentinel_event_set_notifier(void (*notify)(const struct primary *primary, const char *event,
                                                const char *text)) {
    notifier = notify;
}

static void tell_event(const struct event_row *row, const struct instance *instance,
                       const char *text) {
    log_message(row->level, "%s %s", row->name, text);
    if (row->level != LOG_LEVEL_DEBUG) (void)pubsub_deliver(slice_of(row->name), slice_of(text));
    if (row->level == LOG_LEVEL_WARNING && instance && notifier)
        notifier(instance->primary, row->name, text);
}

void sentinel_event(enum sentinel_event_name name, const struct instance *instance,
                    const char *format, ...) {
    const struct event_row *row = &event_rows[name];
    struct buffer text;
    va_list arguments;
    buffer_init(&text, MEMORY_OTHER);
    ASSERT(row->name && (instance || row->form == TEXT_ALONE));
    if (row->form == INSTANCE_FIRST) instance_show(instance, &text);
    if (format) {
        if (text.length) buffer_append_char(&text, ' ');
        va_start(arguments, format);
        buffer_vprintf(&text, format, arguments);
        va_end(arguments);
    }
    buffer_append_char(&text, 0);
    tell_event(row, instance, text.bytes);
    buffer_free(&text);
}
