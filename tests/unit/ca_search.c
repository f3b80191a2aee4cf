#include "transport/ca_search.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "deemster.h"

static char folder[64];

/* Makes a scratch folder with the files good.pem, empty.pem and the folder certs, and goes there.
 */
static void enter_folder(void) {
    snprintf(folder, sizeof folder, "/tmp/ca_search_XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    cr_assert_eq(chdir(folder), 0);
    FILE *file = fopen("good.pem", "w");
    fputs("certificate", file);
    fclose(file);
    fclose(fopen("empty.pem", "w"));
    cr_assert_eq(mkdir("certs", 0700), 0);
}

static void leave_folder(void) {
    unlink("good.pem");
    unlink("empty.pem");
    rmdir("certs");
    cr_expect_eq(chdir("/"), 0);
    rmdir(folder);
}

typedef struct variables {
    const char *file, *dir, *bundle;
} variables;

static const char *environment(const char *name, void *user) {
    const variables *set = user;
    return strcmp(name, "SSL_CERT_FILE") == 0    ? set->file
           : strcmp(name, "SSL_CERT_DIR") == 0   ? set->dir
           : strcmp(name, "CURL_CA_BUNDLE") == 0 ? set->bundle
                                                 : NULL;
}

static struct {
    const char *file, *dir; /* settings */
    variables set;          /* environment */
    const char *known_file, *known_dir;
    const char *found_file, *found_dir; /* both NULL: refused, then problem is in the message */
    const char *problem;
} rows[] = {
    {"good.pem", "", {NULL, NULL, NULL}, "none", "none", "good.pem", "", NULL},
    {"", "certs", {NULL, NULL, NULL}, "good.pem", "none", "", "certs", NULL},
    {"good.pem", "certs", {NULL, NULL, NULL}, "none", "none", "good.pem", "certs", NULL},
    {"", "none:certs", {NULL, NULL, NULL}, "none", "none", "", "none:certs", NULL},
    {"good.pem", "", {"none", "none", "none"}, "none", "none", "good.pem", "", NULL},
    {"none", "", {"good.pem", NULL, NULL}, "good.pem", "none", NULL, NULL, "does not exist"},
    {"empty.pem", "", {NULL, NULL, NULL}, "good.pem", "none", NULL, NULL, "empty"},
    {"certs", "", {NULL, NULL, NULL}, "good.pem", "none", NULL, NULL, "folder, not a file"},
    {"", "good.pem", {NULL, NULL, NULL}, "good.pem", "none", NULL, NULL, "not a folder"},
    {"", "::", {NULL, NULL, NULL}, "good.pem", "none", NULL, NULL, "CA folder setting"},
    {"good.pem/x", "", {NULL, NULL, NULL}, "good.pem", "none", NULL, NULL, "part of the path"},
    {"", "", {"good.pem", NULL, "none"}, "none", "none", "good.pem", "", NULL},
    {"", "", {NULL, "certs", "none"}, "good.pem", "none", "", "certs", NULL},
    {"", "", {"good.pem", "certs", "none"}, "none", "none", "good.pem", "certs", NULL},
    {"", "", {"", "", "good.pem"}, "none", "none", "good.pem", "", NULL},
    {"", "", {"none", NULL, NULL}, "good.pem", "certs", NULL, NULL, "SSL_CERT_FILE names none"},
    {"", "", {NULL, "none", NULL}, "good.pem", "certs", NULL, NULL, "SSL_CERT_DIR names none"},
    {"", "", {NULL, NULL, "none"}, "good.pem", "certs", NULL, NULL, "CURL_CA_BUNDLE names none"},
    {"", "", {NULL, NULL, NULL}, "good.pem", "certs", "good.pem", "", NULL},
    {"", "", {NULL, NULL, NULL}, "empty.pem", "certs", "", "certs", NULL},
    {"", "", {NULL, NULL, NULL}, "none1", "none2", NULL, NULL, "SSL_CERT_FILE, SSL_CERT_DIR, CURL"},
    {"", "", {NULL, NULL, NULL}, "none1", "none2", NULL, NULL, ", none1, none2"},
};

Test(ca_search, table) {
    enter_folder();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *files[] = {rows[i].known_file, NULL};
        const char *dirs[] = {rows[i].known_dir, NULL};
        dm_ca_query query = {dm_span_of(rows[i].file, strlen(rows[i].file)),
                             dm_span_of(rows[i].dir, strlen(rows[i].dir)),
                             environment,
                             &rows[i].set,
                             files,
                             dirs};
        dm_ca_found found = {0};
        dm_error error = {0};
        int result = dm_ca_find(&query, &found, &error);
        cr_expect_eq(result, rows[i].problem == NULL ? 0 : -1, "row %zu: %s", i,
                     error.message.data);
        if (result == 0) {
            cr_expect_str_eq(found.file.len > 0 ? found.file.data : "", rows[i].found_file,
                             "row %zu", i);
            cr_expect_str_eq(found.dir.len > 0 ? found.dir.data : "", rows[i].found_dir, "row %zu",
                             i);
            cr_expect_not_null(found.source);
        } else if (rows[i].problem != NULL) {
            cr_expect_eq(error.code, DEEM_E_CONFIG_CA, "row %zu", i);
            cr_expect(strstr(error.message.data, rows[i].problem) != NULL, "row %zu: %s", i,
                      error.message.data);
        }
        dm_ca_found_free(&found);
        dm_error_free(&error);
    }
    leave_folder();
}

/* The paths of the systems that reports named are in the list, and every one is tried by name. */
Test(ca_search, known) {
    static const char *const wanted[] = {
        "/etc/ssl/certs/ca-certificates.crt",
        "/etc/pki/tls/certs/ca-bundle.crt",
        "/etc/ssl/ca-bundle.pem",
        "/etc/ssl/cert.pem",
    };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        int seen = 0;
        for (size_t j = 0; dm_ca_known_files[j] != NULL; j++) {
            seen += strcmp(dm_ca_known_files[j], wanted[i]) == 0;
        }
        cr_expect_eq(seen, 1, "%s", wanted[i]);
    }
    const char *const none[] = {NULL};
    variables unset = {NULL, NULL, NULL};
    dm_ca_query query = {{NULL, 0}, {NULL, 0}, environment, &unset, none, none};
    dm_ca_found found = {0};
    dm_error error = {0};
    cr_expect_eq(dm_ca_find(&query, &found, &error), -1);
    dm_ca_found_free(&found);
    dm_error_free(&error);
}
