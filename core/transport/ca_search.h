/* Where the trusted certificates are. Done at run time, because a library built on one distribution
 * runs on another. */
#ifndef DM_TRANSPORT_CA_SEARCH_H
#define DM_TRANSPORT_CA_SEARCH_H

#include "base/bytes.h"
#include "base/error.h"

/* What is asked and where to look. Order: file and dir as given by the caller; else SSL_CERT_FILE
 * and SSL_CERT_DIR (both when both are set); else CURL_CA_BUNDLE; else the first known file; else
 * the first known folder. Whatever is named by the caller or by a variable must be usable, else it
 * is an error: falling back to the system's list would trust more than was asked for. */
typedef struct dm_ca_query {
    dm_span file; /* may be empty */
    dm_span dir;  /* may be empty; a colon-separated list of folders is allowed, as in OpenSSL */
    const char *(*environment)(const char *name, void *user);
    void *environment_user;
    const char *const *known_files; /* NULL-terminated */
    const char *const *known_dirs;  /* NULL-terminated */
} dm_ca_query;

/* NUL-terminated; an empty one is not to be set. source says in words where it came from. */
typedef struct dm_ca_found {
    dm_bytes file;
    dm_bytes dir;
    const char *source;
} dm_ca_found;

/* The bundles and folders of known systems: Debian, Alpine, Arch; Fedora, RHEL; SUSE; others.
 * NULL-terminated static lists. */
extern const char *const dm_ca_known_files[];
extern const char *const dm_ca_known_dirs[];

/* Fills found (the caller frees it with dm_ca_found_free, also after an error). 0, or -1 with error
 * filled: what was named and why it cannot be used, or everything that was tried. Any thread. */
int dm_ca_find(const dm_ca_query *query, dm_ca_found *found, dm_error *error);

/* Gives the texts back; found is empty and usable again. */
void dm_ca_found_free(dm_ca_found *found);

#endif
