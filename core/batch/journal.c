#include "batch/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "deemster.h"

/* The file: a key line with the model behind it, then records. A record: a line
 * `R LENGTH HASH`, then LENGTH bytes: a line about the request, the name and the value of the
 * header with its id, then for each row a line and the bytes of its reply. */
enum { LINE_MOST = 256 };

static int refuse(dm_journal *journal, dm_error *error, const char *path, const char *why) {
    if (journal->fd >= 0) {
        close(journal->fd);
        journal->fd = -1;
    }
    return dm_error_set(error, DEEM_E_CONFIG, 0, "The journal '%s' %s.", path, why);
}

static int write_all(int fd, const char *data, size_t len) {
    while (len > 0) {
        ssize_t done = write(fd, data, len);
        if (done < 0 && errno != EINTR) {
            return -1;
        }
        if (done > 0) {
            data += done;
            len -= (size_t)done;
        }
    }
    return 0;
}

/* Exactly len bytes at an offset into the buffer. 1, 0 (the file ends before) or -1. */
static int read_at(int fd, uint64_t offset, size_t len, dm_bytes *out) {
    dm_bytes_clear(out);
    if (dm_bytes_reserve(out, len) != 0) {
        return -1;
    }
    while (out->len < len) {
        ssize_t got = pread(fd, out->data + out->len, len - out->len, (off_t)(offset + out->len));
        if (got == 0) {
            return 0;
        }
        if (got < 0 && errno != EINTR) {
            return 0;
        }
        out->len += got > 0 ? (size_t)got : 0;
    }
    out->data[len] = '\0';
    return 1;
}

static int write_key(dm_bytes *out, const dm_journal_key *key) {
    return dm_bytes_append_format(out, "deemster-journal 1 %s %d:%" PRId64 ":%d:%" PRIu64 " %zu\n",
                                  key->identity, key->shape, key->pack_rows, key->shuffle,
                                  key->seed, key->model.len) != 0 ||
                   dm_bytes_append(out, key->model.data, key->model.len) != 0 ||
                   dm_bytes_append_char(out, '\n') != 0
               ? -1
               : 0;
}

static const char *difference(dm_span found, dm_span wanted) {
    const size_t before = sizeof "deemster-journal 1 " - 1, identity = 64;
    if (found.len < before || memcmp(found.data, wanted.data, before) != 0) {
        return "is no journal of this version";
    }
    if (found.len < before + identity ||
        memcmp(found.data + before, wanted.data + before, identity) != 0) {
        return "belongs to another question set: use another output file";
    }
    const char *line = memchr(wanted.data, '\n', wanted.len);
    const char *space = memrchr(wanted.data, ' ', (size_t)(line - wanted.data));
    size_t shapes = (size_t)(space - wanted.data);
    if (found.len < shapes || memcmp(found.data, wanted.data, shapes) != 0) {
        return "was made with other packs: give the same packing options or use another output "
               "file";
    }
    return "was made with another model: use another output file";
}

static int note_position(dm_journal *journal, uint64_t position, uint64_t record) {
    if (position >= journal->room) {
        size_t room = journal->room == 0 ? 1024 : journal->room;
        while (room <= position) {
            room *= 2;
        }
        uint64_t *offsets = dm_realloc(journal->offsets, room * sizeof *offsets);
        if (offsets == NULL) {
            return -1;
        }
        memset(offsets + journal->room, 0, (room - journal->room) * sizeof *offsets);
        journal->offsets = offsets;
        journal->room = room;
    }
    journal->offsets[position] = record + 1;
    return 0;
}

/* ---- the parts of a record ---- */

typedef struct record_row {
    uint64_t position;
    dm_pack_place place;
    int32_t attempts;
    char digest[33];
    int http_status;
    dm_span name, value; /* of the request id's header */
    dm_span body;
} record_row;

/* Reads a record's rows one by one. at: 0 to begin with. 1 a row, 0 no more, -1 not well-formed. */
static int next_row(dm_span record, size_t *at, record_row *row) {
    int used = 0;
    size_t name = 0, value = 0, body = 0;
    if (*at == 0) {
        if (sscanf(record.data, "%" SCNu64 " %d %d %d %zu %zu%n", &row->place.pack,
                   &row->place.size, &row->place.shape, &row->http_status, &name, &value,
                   &used) != 6 ||
            name > record.len || value > record.len ||
            (size_t)used + 1 + name + value > record.len) {
            return -1;
        }
        row->name = dm_span_of(record.data + used + 1, name);
        row->value = dm_span_of(row->name.data + name, value);
        *at = (size_t)used + 1 + name + value;
    }
    if (*at >= record.len) {
        return 0;
    }
    if (sscanf(record.data + *at, "%" SCNu64 " %d %d %32s %zu%n", &row->position, &row->place.place,
               &row->attempts, row->digest, &body, &used) != 5 ||
        body > record.len || *at + (size_t)used + 2 + body > record.len) {
        return -1;
    }
    row->body = dm_span_of(record.data + *at + used + 1, body);
    *at += (size_t)used + 2 + body;
    return 1;
}

/* The record at an offset into journal->record. Its whole length, 0 when there is none that is
 * whole, -1 no memory. */
static int64_t read_record(dm_journal *journal, uint64_t offset) {
    char line[LINE_MOST];
    size_t len = 0;
    unsigned hash = 0;
    int used = 0;
    journal->record_at = 0;
    ssize_t got = pread(journal->fd, line, sizeof line - 1, (off_t)offset);
    if (got <= 0) {
        return 0;
    }
    line[got] = '\0';
    if (sscanf(line, "R %zu %x%n", &len, &hash, &used) != 2 || line[used] != '\n' ||
        len > journal->end - offset) {
        return 0;
    }
    int there = read_at(journal->fd, offset + (uint64_t)used + 1, len, &journal->record);
    if (there < 0) {
        return -1;
    }
    if (there == 0 || dm_span_hash(dm_bytes_span(&journal->record)) != hash) {
        return 0;
    }
    journal->record_at = offset + 1;
    return used + 1 + (int64_t)len;
}

/* Reads all records and cuts a torn end off. */
static int32_t scan(dm_journal *journal, uint64_t offset) {
    for (;;) {
        int64_t len = read_record(journal, offset);
        if (len < 0) {
            return DEEM_E_MEMORY;
        }
        if (len == 0) {
            break;
        }
        size_t at = 0;
        record_row row = {0};
        while (next_row(dm_bytes_span(&journal->record), &at, &row) == 1) {
            if (note_position(journal, row.position, offset) != 0) {
                return DEEM_E_MEMORY;
            }
        }
        offset += (uint64_t)len;
    }
    if (offset < journal->end && ftruncate(journal->fd, (off_t)offset) != 0) {
        return DEEM_E_CONFIG;
    }
    journal->end = offset;
    return DEEM_OK;
}

static int32_t begin(dm_journal *journal, const char *path, int resume, dm_span key,
                     dm_error *error) {
    struct stat status;
    if (fstat(journal->fd, &status) != 0) {
        return refuse(journal, error, path, strerror(errno));
    }
    journal->end = (uint64_t)status.st_size;
    if (journal->end > key.len && !resume) {
        return refuse(
            journal, error, path,
            "holds the answers of an earlier run: add --resume to go on with it, or remove "
            "the file to begin again");
    }
    int there =
        read_at(journal->fd, 0, key.len < journal->end ? key.len : journal->end, &journal->scratch);
    if (there < 0) {
        return DEEM_E_MEMORY;
    }
    dm_span found = dm_bytes_span(&journal->scratch);
    if (found.len < key.len && (found.len == 0 || memcmp(found.data, key.data, found.len) == 0)) {
        /* New, or killed while it was being begun. */
        if (ftruncate(journal->fd, 0) != 0 || write_all(journal->fd, key.data, key.len) != 0) {
            return refuse(journal, error, path, "cannot be written");
        }
        journal->end = key.len;
        return DEEM_OK;
    }
    if (!dm_span_equal(found, key)) {
        return refuse(journal, error, path, difference(found, key));
    }
    int32_t code = scan(journal, key.len);
    return code == DEEM_E_CONFIG ? refuse(journal, error, path, "cannot be repaired") : code;
}

int32_t dm_journal_open(dm_journal *journal, dm_span path, int resume, const dm_journal_key *key,
                        dm_error *error) {
    *journal = (dm_journal){.fd = -1};
    dm_bytes name = {0};
    dm_bytes line = {0};
    int32_t code = DEEM_E_MEMORY;
    if (dm_bytes_append(&name, path.data, path.len) == 0 && write_key(&line, key) == 0) {
        journal->fd = open(name.data, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        if (journal->fd < 0) {
            code = refuse(journal, error, name.data, strerror(errno));
        } else if (flock(journal->fd, LOCK_EX | LOCK_NB) != 0) {
            code = refuse(journal, error, name.data, "is in use by another run");
        } else {
            code = begin(journal, name.data, resume, dm_bytes_span(&line), error);
        }
    }
    dm_bytes_free(&name);
    dm_bytes_free(&line);
    return code;
}

static int is_good(const dm_row *row) {
    return row->response != NULL && row->response->error.code == DEEM_OK;
}

int dm_journal_append(dm_journal *journal, dm_row *const *rows, uint32_t count) {
    const dm_row *first = NULL;
    for (uint32_t i = 0; i < count && first == NULL; i++) {
        first = is_good(rows[i]) ? rows[i] : NULL;
    }
    if (first == NULL || journal->fd < 0) {
        return 0;
    }
    dm_span value = dm_response_request_id(first->response);
    dm_span name = DM_LITERAL("x-request-id");
    dm_bytes *out = &journal->scratch;
    dm_bytes_clear(out);
    int failed = dm_bytes_append_format(out, "%" PRIu64 " %d %d %d %zu %zu\n", first->place.pack,
                                        first->place.size, first->place.shape,
                                        first->response->http_status, name.len, value.len) != 0 ||
                 dm_bytes_append(out, name.data, name.len) != 0 ||
                 dm_bytes_append(out, value.data, value.len) != 0;
    for (uint32_t i = 0; !failed && i < count; i++) {
        const dm_row *row = rows[i];
        if (!is_good(row)) {
            continue;
        }
        failed = dm_bytes_append_format(out, "%" PRIu64 " %d %d %s %zu\n", row->position,
                                        row->place.place, row->attempts, row->digest,
                                        row->response->body.len) != 0 ||
                 dm_bytes_append(out, row->response->body.data, row->response->body.len) != 0 ||
                 dm_bytes_append_char(out, '\n') != 0;
    }
    if (failed) {
        return -1;
    }
    dm_bytes_clear(&journal->record);
    journal->record_at = 0;
    if (dm_bytes_append_format(&journal->record, "R %zu %x\n", out->len,
                               dm_span_hash(dm_bytes_span(out))) != 0 ||
        dm_bytes_append(&journal->record, out->data, out->len) != 0) {
        return -1;
    }
    return write_all(journal->fd, journal->record.data, journal->record.len);
}

int dm_journal_restore(dm_journal *journal, dm_row *row, deem_question_set *set, int32_t check,
                       dm_json_index *index) {
    if (row->position >= journal->room || journal->offsets[row->position] == 0) {
        return 0;
    }
    uint64_t record = journal->offsets[row->position];
    if (journal->record_at != record) {
        int64_t len = read_record(journal, record - 1);
        if (len <= 0) {
            return len < 0 ? -1 : 0;
        }
    }
    size_t at = 0;
    record_row found = {0};
    int status;
    while ((status = next_row(dm_bytes_span(&journal->record), &at, &found)) == 1 &&
           found.position != row->position) {
    }
    if (status != 1 || strcmp(found.digest, row->digest) != 0) {
        return 0; /* the row was another one then */
    }
    deem_response *response = dm_response_new();
    if (response == NULL) {
        return -1;
    }
    dm_response_begin(response, set);
    if (dm_bytes_append(&response->body, found.body.data, found.body.len) != 0 ||
        dm_response_reread(response, check, index) != 0 ||
        (found.value.len > 0 && dm_response_add_header(response, found.name, found.value) != 0)) {
        dm_response_free(response);
        return -1;
    }
    if (response->error.code != DEEM_OK) {
        dm_response_free(response); /* checked more strictly today */
        return 0;
    }
    response->http_status = found.http_status;
    response->attempts = found.attempts;
    row->response = response;
    row->attempts = found.attempts;
    row->place = found.place;
    return 1;
}

void dm_journal_close(dm_journal *journal) {
    if (journal->fd >= 0) {
        close(journal->fd);
    }
    dm_free(journal->offsets);
    dm_bytes_free(&journal->record);
    dm_bytes_free(&journal->scratch);
    *journal = (dm_journal){.fd = -1};
}
