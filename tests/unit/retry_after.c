#include <criterion/criterion.h>
#include <stdio.h>

#include "http1/retry_after.h"

#define ABSENT DM_RETRY_AFTER_ABSENT
/* Sun, 06 Nov 1994 08:49:37 GMT, the date of the RFC's examples, and one day of 2026. */
#define NOV_1994 INT64_C(784111777000)
#define DEC_2026 INT64_C(1796083200000) /* Tue, 01 Dec 2026 00:00:00 GMT */

static dm_span text(const char *of) {
    return dm_span_of(of, of == NULL ? 0 : strlen(of));
}

Test(retry_after, milliseconds) {
    static const struct {
        const char *value;
        int64_t ms;
    } rows[] = {
        {"0", 0},
        {"120", 120},
        {" \t120 ", 120},
        {"120.0", 120},
        {"120.5", 121},
        {"120.", 120},
        {".5", 1},
        {"0007", 7},
        {"9223372036854775807", INT64_MAX},
        {"9223372036854775808", INT64_MAX},
        {"99999999999999999999999999999999", INT64_MAX},
        {"", ABSENT},
        {"  ", ABSENT},
        {".", ABSENT},
        {"-1", ABSENT},
        {"-0", ABSENT},
        {"+1", ABSENT},
        {"1e3", ABSENT},
        {"1e999", ABSENT},
        {"0x10", ABSENT},
        {"nan", ABSENT},
        {"inf", ABSENT},
        {"Infinity", ABSENT},
        {"1,5", ABSENT},
        {"1 2", ABSENT},
        {"1.2.3", ABSENT},
        {"12ms", ABSENT},
        {"\xD9\xA1", ABSENT},
        {"Sun, 06 Nov 1994 08:49:37 GMT", ABSENT},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cr_assert_eq(dm_retry_after_millis(text(rows[i].value)), rows[i].ms, "%s: %lld",
                     rows[i].value, (long long)dm_retry_after_millis(text(rows[i].value)));
    }
    cr_assert_eq(dm_retry_after_millis(dm_span_of("1\0", 2)), ABSENT);
}

Test(retry_after, seconds_and_dates) {
    static const struct {
        const char *value;
        int64_t now;
        int64_t ms;
    } rows[] = {
        {"1", 0, 1000},
        {"0", 0, 0},
        {"99999", 0, 99999000},
        {"0.25", 0, 250},
        {"1.0005", 0, 1001},
        {"1.00000000000000000000001", 0, 1001},
        {"0.001", 0, 1},
        {".5", 0, 500},
        {"9223372036854775", 0, INT64_C(9223372036854775000)},
        {"9223372036854775.807", 0, INT64_MAX},
        {"9223372036854775.808", 0, INT64_MAX},
        {"9223372036854776", 0, INT64_MAX},
        {"", 0, ABSENT},
        {" ", 0, ABSENT},
        {"-5", 0, ABSENT},
        {"-0.5", 0, ABSENT},
        {"1e999", 0, ABSENT},
        {"1e1", 0, ABSENT},
        {"0x10", 0, ABSENT},
        {"nan", 0, ABSENT},
        {"soon", 0, ABSENT},
        {"5, 6", 0, ABSENT},

        /* Five seconds ahead in each form, then past. */
        {"Sun, 06 Nov 1994 08:49:37 GMT", NOV_1994 - 5000, 5000},
        {"Sunday, 06-Nov-94 08:49:37 GMT", NOV_1994 - 5000, 5000},
        {"Sun Nov  6 08:49:37 1994", NOV_1994 - 5000, 5000},
        {"Wed Nov 16 08:49:37 1994", NOV_1994 + INT64_C(864000000) - 5, 5},
        {" sun, 06 nov 1994 08:49:37 gmt ", NOV_1994 - 1, 1},
        {"Sun, 06 Nov 1994 08:49:37 GMT", NOV_1994, 0},
        {"Sun, 06 Nov 1994 08:49:37 GMT", DEC_2026, 0},
        {"Thu, 01 Jan 1970 00:00:00 GMT", 0, 0},
        {"Wed, 31 Dec 1969 23:59:59 GMT", 0, 0},
        {"Tue, 01 Dec 2026 00:00:02 GMT", DEC_2026 + 1, 1999},
        {"Fri, 31 Dec 9999 23:59:59 GMT", 0, INT64_C(253402300799000)},
        {"Tue, 29 Feb 2028 00:00:00 GMT", INT64_C(1835395200000) - 7, 7},
        {"Tue, 01 Dec 2026 23:59:60 GMT", DEC_2026, 86400000},
        {"Mon, 29 Feb 2100 00:00:00 GMT", 0, ABSENT},
        {"Mon, 29 Feb 2027 00:00:00 GMT", 0, ABSENT},
        {"Tue, 31 Nov 2026 00:00:00 GMT", 0, ABSENT},
        {"Tue, 00 Dec 2026 00:00:00 GMT", 0, ABSENT},
        {"Tue, 01 Dez 2026 00:00:00 GMT", 0, ABSENT},
        {"Tux, 01 Dec 2026 00:00:00 GMT", 0, ABSENT},
        {"Tue, 01 Dec 2026 24:00:00 GMT", 0, ABSENT},
        {"Tue, 01 Dec 2026 00:60:00 GMT", 0, ABSENT},
        {"Tue, 01 Dec 2026 00:00:61 GMT", 0, ABSENT},
        {"Tue, 01 Dec 2026 00:00:00", 0, ABSENT},
        {"Tue, 01 Dec 2026 00:00:00 CET", 0, ABSENT},
        {"Tue, 01 Dec 2026 00:00:00 GMT+1", 0, ABSENT},
        {"Tue, 1 Dec 2026 00:00:00 GMT", 0, ABSENT},
        {"Tue, 01 Dec 26 00:00:00 GMT", 0, ABSENT},
        {"Tuesday, 01 Dec 2026 00:00:00 GMT", 0, ABSENT},
        {"2026-12-01T00:00:02Z", DEC_2026, ABSENT},
        {"Tue Dec 1 00:00:00 2026", 0, ABSENT},

        /* Two-digit years: the latest that is at most 50 years ahead. */
        {"Tuesday, 01-Dec-26 00:00:02 GMT", DEC_2026, 2000},
        {"Tuesday, 01-Dec-76 00:00:00 GMT", DEC_2026, INT64_C(3374006400000) - DEC_2026},
        {"Tuesday, 01-Dec-76 00:00:01 GMT", DEC_2026, 0},
        {"Monday, 29-Feb-00 00:00:00 GMT", DEC_2026, 0},
        {"Friday, 01-Jan-00 00:00:00 GMT", INT64_C(4102444799000), 1000},
        {"Thursday, 31-Dec-99 23:59:59 GMT", INT64_C(946684800000), 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t got = dm_retry_after_value(text(rows[i].value), rows[i].now);
        cr_assert_eq(got, rows[i].ms, "%s at %lld: %lld", rows[i].value, (long long)rows[i].now,
                     (long long)got);
    }
}

Test(retry_after, the_millisecond_header_wins_when_it_is_usable) {
    static const struct {
        const char *millis;
        const char *value;
        int64_t ms;
    } rows[] = {
        {"120", "5", 120},    {"0", "5", 0},      {"", "5", 5000},
        {"-1", "5", 5000},    {"x", "x", ABSENT}, {NULL, "5", 5000},
        {NULL, NULL, ABSENT}, {"7", NULL, 7},     {"1e999", NULL, ABSENT},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cr_assert_eq(dm_retry_after(text(rows[i].millis), text(rows[i].value), 0), rows[i].ms,
                     "row %zu", i);
    }
}

/* Every day from 1970 to 2199 in order, so that the calendar has no hole and no double day. */
Test(retry_after, the_calendar_counts_each_day_once) {
    static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    int64_t want = 0;
    for (int year = 1970; year < 2200; year++) {
        for (int month = 0; month < 12; month++) {
            for (int day = 1; day <= 31; day++) {
                char date[64];
                int64_t seconds;
                int len = snprintf(date, sizeof date, "Mon, %02d %s %d 00:00:00 GMT", day,
                                   months[month], year);
                if (dm_http_date(dm_span_of(date, (size_t)len), 0, &seconds) == 0) {
                    cr_assert_eq(seconds, want, "%s", date);
                    want += 86400;
                }
            }
        }
    }
    cr_assert_eq(want, INT64_C(7258118400));
}
