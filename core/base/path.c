#include "base/path.h"

#include "base/text.h"

enum { LONGEST_KEY = 64 };

static int plain(dm_span key) {
    if (key.len == 0 || key.len > LONGEST_KEY) {
        return 0;
    }
    for (size_t i = 0; i < key.len; i++) {
        char c = key.data[i];
        int good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                   c == '_' || c == '-';
        if (!good) {
            return 0;
        }
    }
    return 1;
}

int dm_path_append_key(dm_bytes *path, dm_span key) {
    if (plain(key)) {
        if (path->len != 0 && dm_bytes_append_char(path, '.') != 0) {
            return -1;
        }
        return dm_bytes_append(path, key.data, key.len);
    }
    if (dm_bytes_append_text(path, "[\"") != 0) {
        return -1;
    }
    size_t shown = key.len < LONGEST_KEY ? key.len : LONGEST_KEY;
    size_t from = 0;
    for (size_t i = 0; i < shown; i++) {
        if (key.data[i] == '"' || key.data[i] == '\\') {
            if (dm_text_append_safe(path, dm_span_of(key.data + from, i - from), shown) != 0 ||
                dm_bytes_append_char(path, '\\') != 0) {
                return -1;
            }
            from = i;
        }
    }
    if (dm_text_append_safe(path, dm_span_of(key.data + from, key.len - from), shown - from) != 0) {
        return -1;
    }
    return dm_bytes_append_text(path, "\"]");
}

int dm_path_append_index(dm_bytes *path, size_t index) {
    return dm_bytes_append_format(path, "[%zu]", index);
}
