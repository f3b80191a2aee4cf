#include "http1/retry_after.h"

#include "http1/chars.h"

static int is_digit(char byte) {
    return byte >= '0' && byte <= '9';
}

/* digits [ "." digits ], or "." digits, times `scale`, rounded up to a whole number and held at
 * INT64_MAX; DM_RETRY_AFTER_ABSENT when the text is anything else. */
static int64_t scaled_decimal(dm_span text, int64_t scale) {
    size_t at = 0;
    size_t digits = 0;
    int64_t whole = 0;
    for (; at < text.len && is_digit(text.data[at]); at++, digits++) {
        int digit = text.data[at] - '0';
        whole = whole > (INT64_MAX - digit) / 10 ? INT64_MAX : whole * 10 + digit;
    }
    int64_t part = 0;
    int64_t unit = scale;
    int rest = 0;
    if (at < text.len && text.data[at] == '.') {
        for (at++; at < text.len && is_digit(text.data[at]); at++, digits++) {
            unit /= 10;
            part += unit * (text.data[at] - '0');
            rest |= unit == 0 && text.data[at] != '0';
        }
    }
    if (digits == 0 || at != text.len) {
        return DM_RETRY_AFTER_ABSENT;
    }
    part += rest;
    return whole > (INT64_MAX - part) / scale ? INT64_MAX : whole * scale + part;
}

int64_t dm_retry_after_millis(dm_span value) {
    return scaled_decimal(dm_http1_trim(value), 1);
}

/* Days since 1970-01-01 of a day in the Gregorian calendar, month 1..12. */
static int64_t days_since_epoch(int year, int month, int day) {
    /* Years run from March here, so that the leap day is the last of a year. */
    int64_t y = month > 2 ? year : year - 1;
    int64_t past = month > 2 ? month - 3 : month + 9;
    int64_t leaps = y / 4 - y / 100 + y / 400;
    return y * 365 + leaps + (past * 153 + 2) / 5 + day - 1 - 719468;
}

/* A date being read from left to right; ok falls to 0 at the first thing that does not fit. */
typedef struct scan {
    dm_span text;
    int ok;
} scan;

static void expect(scan *in, dm_span lower) {
    if (in->ok && in->text.len >= lower.len) {
        for (size_t i = 0; i < lower.len; i++) {
            char byte = in->text.data[i];
            byte = byte >= 'A' && byte <= 'Z' ? (char)(byte + 32) : byte;
            in->ok &= byte == lower.data[i];
        }
        in->text = dm_span_of(in->text.data + lower.len, in->text.len - lower.len);
        return;
    }
    in->ok = 0;
}

static int number(scan *in, size_t width) {
    int value = 0;
    for (size_t i = 0; i < width; i++) {
        in->ok = in->ok && i < in->text.len && is_digit(in->text.data[i]);
        value = in->ok ? value * 10 + in->text.data[i] - '0' : 0;
    }
    if (in->ok) {
        in->text = dm_span_of(in->text.data + width, in->text.len - width);
    }
    return value;
}

/* The index of the word that the text starts with, from words of the given lengths. */
static int word(scan *in, const char *const *words, int count) {
    for (int i = 0; in->ok && i < count; i++) {
        scan here = *in;
        expect(&here, dm_span_of(words[i], strlen(words[i])));
        if (here.ok) {
            *in = here;
            return i;
        }
    }
    in->ok = 0;
    return 0;
}

static int month_of(scan *in) {
    static const char *const months[] = {"jan", "feb", "mar", "apr", "may", "jun",
                                         "jul", "aug", "sep", "oct", "nov", "dec"};
    return word(in, months, 12) + 1;
}

typedef struct date {
    int year;
    int month;
    int day;
    int second; /* of the day */
} date;

static int time_of_day(scan *in) {
    int hour = number(in, 2);
    expect(in, DM_LITERAL(":"));
    int minute = number(in, 2);
    expect(in, DM_LITERAL(":"));
    int second = number(in, 2);
    /* 60 is a leap second. */
    in->ok = in->ok && hour < 24 && minute < 60 && second <= 60;
    return hour * 3600 + minute * 60 + second;
}

static int64_t seconds_of(date when) {
    return days_since_epoch(when.year, when.month, when.day) * 86400 + when.second;
}

static int is_real_day(date when) {
    static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int leap = when.year % 4 == 0 && (when.year % 100 != 0 || when.year % 400 == 0);
    return when.day >= 1 && when.day <= lengths[when.month - 1] + (leap && when.month == 2);
}

/* The year from its last two digits (RFC 9110, 5.6.7): the latest that makes the moment lie no more
 * than 50 years after now. */
static int full_year(date when, int64_t now) {
    int year = 9900 + when.year;
    for (; year >= 100; year -= 100) {
        when.year = year - 50;
        if (seconds_of(when) <= now) {
            break;
        }
    }
    return year;
}

/* Mon, 02 Jan 2006 15:04:05 GMT */
static int imf_date(scan in, date *when) {
    static const char *const days[] = {"mon, ", "tue, ", "wed, ", "thu, ",
                                       "fri, ", "sat, ", "sun, "};
    (void)word(&in, days, 7);
    when->day = number(&in, 2);
    expect(&in, DM_LITERAL(" "));
    when->month = month_of(&in);
    expect(&in, DM_LITERAL(" "));
    when->year = number(&in, 4);
    expect(&in, DM_LITERAL(" "));
    when->second = time_of_day(&in);
    expect(&in, DM_LITERAL(" gmt"));
    return in.ok && in.text.len == 0;
}

/* Monday, 02-Jan-06 15:04:05 GMT */
static int rfc850_date(scan in, date *when, int64_t now) {
    static const char *const days[] = {"monday, ", "tuesday, ",  "wednesday, ", "thursday, ",
                                       "friday, ", "saturday, ", "sunday, "};
    (void)word(&in, days, 7);
    when->day = number(&in, 2);
    expect(&in, DM_LITERAL("-"));
    when->month = month_of(&in);
    expect(&in, DM_LITERAL("-"));
    when->year = number(&in, 2);
    expect(&in, DM_LITERAL(" "));
    when->second = time_of_day(&in);
    expect(&in, DM_LITERAL(" gmt"));
    if (!in.ok || in.text.len != 0) {
        return 0;
    }
    when->year = full_year(*when, now);
    return 1;
}

/* Mon Jan  2 15:04:05 2006 */
static int asctime_date(scan in, date *when) {
    static const char *const days[] = {"mon ", "tue ", "wed ", "thu ", "fri ", "sat ", "sun "};
    (void)word(&in, days, 7);
    when->month = month_of(&in);
    expect(&in, DM_LITERAL(" "));
    int padded = in.ok && in.text.len != 0 && in.text.data[0] == ' ';
    expect(&in, padded ? DM_LITERAL(" ") : DM_LITERAL(""));
    when->day = number(&in, padded ? 1 : 2);
    expect(&in, DM_LITERAL(" "));
    when->second = time_of_day(&in);
    expect(&in, DM_LITERAL(" "));
    when->year = number(&in, 4);
    return in.ok && in.text.len == 0;
}

int dm_http_date(dm_span text, int64_t wall_ms, int64_t *seconds) {
    scan in = {dm_http1_trim(text), 1};
    date when;
    if (!imf_date(in, &when) && !rfc850_date(in, &when, wall_ms / 1000) &&
        !asctime_date(in, &when)) {
        return -1;
    }
    if (!is_real_day(when)) {
        return -1;
    }
    *seconds = seconds_of(when);
    return 0;
}

int64_t dm_retry_after_value(dm_span value, int64_t wall_ms) {
    int64_t wait = scaled_decimal(dm_http1_trim(value), 1000);
    int64_t seconds;
    if (wait != DM_RETRY_AFTER_ABSENT || dm_http_date(value, wall_ms, &seconds) != 0) {
        return wait;
    }
    return seconds * 1000 > wall_ms ? seconds * 1000 - wall_ms : 0;
}

int64_t dm_retry_after(dm_span retry_after_ms, dm_span retry_after, int64_t wall_ms) {
    int64_t wait = dm_retry_after_millis(retry_after_ms);
    return wait != DM_RETRY_AFTER_ABSENT ? wait : dm_retry_after_value(retry_after, wall_ms);
}
