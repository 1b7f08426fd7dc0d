/* SPDX-License-Identifier: BSD-3-Clause
 * Lists whose links lie inside their members. */
#include "base/list.h"

#include "seed.h"

struct member {
    int number;
    struct list_link link;
};

static int number_of(struct list_link *link) {
    return LIST_ENTRY(link, struct member, link)->number;
}

/* The members' numbers are the digits of `expected`, forwards and backwards. */
static void assert_members(struct list_link *head, const char *expected) {
    size_t count = 0;
    LIST_FOR_EACH (link, following, head) {
        assert_int_equal(number_of(link), expected[count] - '0');
        assert_ptr_equal(link->next->previous, link);
        count++;
    }
    assert_int_equal(count, strlen(expected));
    assert_int_equal(list_is_empty(head), count == 0);
    for (struct list_link *link = head->previous; link != head; link = link->previous) {
        assert_int_equal(number_of(link), expected[--count] - '0');
    }
}

static void test_list(void **state) {
    struct list_link head;
    struct member members[6];
    for (int i = 0; i < 6; i++) members[i].number = i;
    list_init(&head);
    assert_members(&head, "");
    list_append(&head, &members[1].link);
    assert_members(&head, "1");
    list_append(&head, &members[2].link);
    list_prepend(&head, &members[3].link);
    assert_members(&head, "312");
    list_insert_after(&members[1].link, &members[4].link);
    assert_members(&head, "3142");
    list_remove(&members[1].link);
    list_remove(&members[1].link); /* harmless twice */
    assert_members(&head, "342");
    LIST_FOR_EACH (link, following, &head) {
        if (number_of(link) != 4) list_remove(link);
    }
    assert_members(&head, "4");
    list_remove(&members[4].link);
    assert_members(&head, "");
}

static void test_append_all(void **state) {
    struct list_link head, from;
    struct member members[4];
    for (int i = 0; i < 4; i++) members[i].number = i;
    list_init(&head);
    list_init(&from);
    list_append_all(&head, &from);
    assert_members(&head, "");
    list_append(&from, &members[0].link);
    list_append(&from, &members[1].link);
    list_append_all(&head, &from);
    assert_members(&head, "01");
    assert_members(&from, "");
    list_append(&from, &members[2].link);
    list_append(&from, &members[3].link);
    list_append_all(&head, &from);
    assert_members(&head, "0123");
    list_append_all(&head, &from);
    assert_members(&head, "0123");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_append_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
