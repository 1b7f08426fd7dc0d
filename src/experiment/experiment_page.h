/* SPDX-License-Identifier: BSD-3-Clause
 * The results of an experiment as one HTML page that needs nothing else.
 */
#ifndef EVENKEEL_EXPERIMENT_EXPERIMENT_PAGE_H
#define EVENKEEL_EXPERIMENT_EXPERIMENT_PAGE_H
#include "base/string.h"
#include "experiment/experiment_record.h"

/* Appends the page: the verdict, and for each figure that the table shows the blocks' values, their
 * change against the reference, and a timeline. */
void experiment_page_write(const struct experiment_record *r, struct buffer *out);
#endif
