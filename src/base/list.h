/* SPDX-License-Identifier: BSD-3-Clause
 * Doubly linked list whose links lie inside the members: no allocation, O(1) removal.
 *
 * The list's head is a link too; an empty list's head points to itself. A link that is in no list
 * points to itself after list_init or list_remove, so that list_remove is harmless twice.
 */
#ifndef EVENKEEL_BASE_LIST_H
#define EVENKEEL_BASE_LIST_H
#include <stdbool.h>
#include <stddef.h>

struct list_link {
    struct list_link *next, *previous;
};

static inline void list_init(struct list_link *link) { link->next = link->previous = link; }
static inline bool list_is_empty(const struct list_link *head) { return head->next == head; }
static inline void list_insert_after(struct list_link *place, struct list_link *link) {
    link->previous = place;
    link->next = place->next;
    place->next->previous = link;
    place->next = link;
}
static inline void list_append(struct list_link *head, struct list_link *link) {
    list_insert_after(head->previous, link);
}
static inline void list_prepend(struct list_link *head, struct list_link *link) {
    list_insert_after(head, link);
}
static inline void list_remove(struct list_link *link) {
    link->previous->next = link->next;
    link->next->previous = link->previous;
    list_init(link);
}
/* Moves all members of `from` behind those of `head`. O(1). */
static inline void list_append_all(struct list_link *head, struct list_link *from) {
    if (list_is_empty(from)) return;
    from->next->previous = head->previous;
    head->previous->next = from->next;
    from->previous->next = head;
    head->previous = from->previous;
    list_init(from);
}

/* The struct that holds `link` as `member`. */
#define LIST_ENTRY(link, type, member) ((type *)(void *)((char *)(link)-offsetof(type, member)))
/* `link` walks the list; the body may remove the current link. */
#define LIST_FOR_EACH(link, following, head)                                             \
    for (struct list_link *link = (head)->next, *following = link->next; link != (head); \
         link = following, following = link->next)
#endif
