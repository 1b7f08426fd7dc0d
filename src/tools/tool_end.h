/* SPDX-License-Identifier: BSD-3-Clause
 * The signals that end a tool which must clean up first: SIGINT, SIGTERM and SIGHUP.
 */
#ifndef EVENKEEL_TOOLS_TOOL_END_H
#define EVENKEEL_TOOLS_TOOL_END_H
struct loop;

/* From now on these signals are noted and wake `loop`, and SIGPIPE is ignored. SIGHUP stays ignored
 * where nohup has made the process ignore it. */
void tool_end_listen(struct loop *loop);
/* To be called before the loop is freed. */
void tool_end_forget_loop(void);
/* The signal that asks the tool to end; 0 = none has come. */
int tool_end_signal(void);
#endif
