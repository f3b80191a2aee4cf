#include "transport/ca_search.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "transport/failure.h"

const char *const dm_ca_known_files[] = {
    "/etc/ssl/certs/ca-certificates.crt",                /* Debian, Ubuntu, Alpine, Arch, Gentoo */
    "/etc/pki/tls/certs/ca-bundle.crt",                  /* Fedora, RHEL, Amazon */
    "/etc/ssl/ca-bundle.pem",                            /* SUSE */
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", /* RHEL 7 and later */
    "/var/lib/ca-certificates/ca-bundle.pem",            /* SUSE, generated */
    "/etc/pki/tls/cacert.pem",                           /* OpenELEC */
    "/etc/ssl/cert.pem",                                 /* Alpine, the BSDs, macOS */
    "/usr/local/share/certs/ca-root-nss.crt",            /* FreeBSD */
    "/etc/ca-certificates/extracted/tls-ca-bundle.pem",  /* Arch */
    "/usr/share/ssl/certs/ca-bundle.crt",                /* old Red Hat */
    NULL,
};

const char *const dm_ca_known_dirs[] = {
    "/etc/ssl/certs",                                /* Debian, SUSE, Alpine */
    "/etc/pki/tls/certs",                            /* Fedora, RHEL */
    "/system/etc/security/cacerts",                  /* Android */
    "/data/data/com.termux/files/usr/etc/tls/certs", /* Termux */
    NULL,
};

/* Why the path is no usable bundle, or NULL when it is one. */
static const char *file_problem(const char *path) {
    struct stat info;
    if (stat(path, &info) != 0) {
        return dm_errno_text(errno);
    }
    if (S_ISDIR(info.st_mode)) {
        return "it is a folder, not a file";
    }
    if (access(path, R_OK) != 0) {
        return dm_errno_text(errno);
    }
    return info.st_size > 0 ? NULL : "it is empty";
}

static const char *dir_problem(const char *path) {
    struct stat info;
    if (stat(path, &info) != 0) {
        return dm_errno_text(errno);
    }
    if (!S_ISDIR(info.st_mode)) {
        return "it is not a folder";
    }
    return access(path, R_OK | X_OK) == 0 ? NULL : dm_errno_text(errno);
}

/* Of a colon-separated list one usable folder is enough; the problem is that of the last one. */
static const char *dirs_problem(const char *list) {
    char path[4096];
    const char *problem = "it is empty";
    while (problem != NULL && *list != '\0') {
        size_t len = strcspn(list, ":");
        if (len >= sizeof path) {
            return "it is too long";
        }
        memcpy(path, list, len);
        path[len] = '\0';
        if (len > 0) {
            problem = dir_problem(path);
        }
        list += len + (list[len] == ':');
    }
    return problem;
}

static int memory_failure(dm_error *error) {
    dm_fail(error, DM_FAIL_MEMORY, "no memory for the CA search");
    return -1;
}

/* Takes a named file or folder list, which must be usable. */
static int take_named(dm_bytes *out, dm_span text, const char *name, int is_dir, dm_error *error) {
    if (memchr(text.data, '\0', text.len) != NULL) {
        dm_fail(error, DM_FAIL_CA_SETTING, "%s holds a NUL byte", name);
        return -1;
    }
    if (dm_bytes_append(out, text.data, text.len) != 0) {
        return memory_failure(error);
    }
    const char *problem = is_dir ? dirs_problem(out->data) : file_problem(out->data);
    if (problem == NULL) {
        return 0;
    }
    dm_bytes shown = {0};
    dm_text_append_safe(&shown, text, 300);
    dm_fail(error, DM_FAIL_CA_SETTING, "%s names %s, which cannot be used: %s", name,
            shown.data != NULL ? shown.data : "", problem);
    dm_bytes_free(&shown);
    return -1;
}

static dm_span variable(const dm_ca_query *query, const char *name) {
    const char *value = query->environment(name, query->environment_user);
    return value != NULL ? dm_span_of(value, strlen(value)) : dm_span_of(NULL, 0);
}

/* Searches one known list; 1 found, 0 not, -1 no memory. */
static int search(dm_bytes *out, const char *const *paths, int is_dir) {
    for (size_t i = 0; paths[i] != NULL; i++) {
        if ((is_dir ? dir_problem(paths[i]) : file_problem(paths[i])) == NULL) {
            return dm_bytes_append_text(out, paths[i]) == 0 ? 1 : -1;
        }
    }
    return 0;
}

static void append_list(dm_error *error, const char *const *paths) {
    for (size_t i = 0; paths[i] != NULL; i++) {
        dm_bytes_append_text(&error->message, ", ");
        dm_bytes_append_text(&error->message, paths[i]);
    }
}

int dm_ca_find(const dm_ca_query *query, dm_ca_found *found, dm_error *error) {
    dm_bytes_clear(&found->file);
    dm_bytes_clear(&found->dir);
    struct {
        dm_span file, dir;
        const char *file_name, *dir_name, *source;
    } named[] = {
        {query->file, query->dir, "the CA file setting", "the CA folder setting", "the settings"},
        {variable(query, "SSL_CERT_FILE"), variable(query, "SSL_CERT_DIR"), "SSL_CERT_FILE",
         "SSL_CERT_DIR", "SSL_CERT_FILE or SSL_CERT_DIR"},
        {variable(query, "CURL_CA_BUNDLE"), {NULL, 0}, "CURL_CA_BUNDLE", "", "CURL_CA_BUNDLE"},
    };
    for (size_t i = 0; i < sizeof named / sizeof named[0]; i++) {
        if (named[i].file.len == 0 && named[i].dir.len == 0) {
            continue;
        }
        found->source = named[i].source;
        if (named[i].file.len > 0 &&
            take_named(&found->file, named[i].file, named[i].file_name, 0, error) != 0) {
            return -1;
        }
        return named[i].dir.len > 0
                   ? take_named(&found->dir, named[i].dir, named[i].dir_name, 1, error)
                   : 0;
    }
    found->source = "the system";
    int got = search(&found->file, query->known_files, 0);
    if (got == 0) {
        got = search(&found->dir, query->known_dirs, 1);
    }
    if (got < 0) {
        return memory_failure(error);
    }
    if (got == 0) {
        dm_fail(error, DM_FAIL_CA_SETTING,
                "no CA certificates found: install the package ca-certificates, or name a file by "
                "the CA file setting or SSL_CERT_FILE; tried the settings, SSL_CERT_FILE, "
                "SSL_CERT_DIR, CURL_CA_BUNDLE (all unset)");
        append_list(error, query->known_files);
        append_list(error, query->known_dirs);
        return -1;
    }
    return 0;
}

void dm_ca_found_free(dm_ca_found *found) {
    dm_bytes_free(&found->file);
    dm_bytes_free(&found->dir);
}
