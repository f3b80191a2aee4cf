#include "http1/zlib_dl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

/* Our zlib must not be taken for, or from, one that the host program carries (Node does). The
 * sanitizers' own loader refuses the flag. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(memory_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(SANITIZED) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) ||         \
    !defined(RTLD_DEEPBIND)
#define BIND_OWN 0
#else
#define BIND_OWN RTLD_DEEPBIND
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *file_name = "libz.so.1";
static int tried;
static int found;
static dm_zlib calls;

/* ISO C has no cast from an object pointer to a function pointer; POSIX makes the copy valid. */
static int look_up(void *library, const char *name, void *function) {
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof symbol);
    return symbol != NULL;
}

const dm_zlib *dm_zlib_open(void) {
    pthread_mutex_lock(&lock);
    if (!tried) {
        tried = 1;
        void *library = dlopen(file_name, RTLD_NOW | RTLD_LOCAL | BIND_OWN);
        found = library != NULL && look_up(library, "inflateInit2_", &calls.inflate_init) &&
                look_up(library, "inflateReset2", &calls.inflate_reset) &&
                look_up(library, "inflate", &calls.inflate) &&
                look_up(library, "inflateEnd", &calls.inflate_end);
    }
    const dm_zlib *zlib = found ? &calls : NULL;
    pthread_mutex_unlock(&lock);
    return zlib;
}

void dm_zlib_set_file(const char *file) {
    pthread_mutex_lock(&lock);
    file_name = file != NULL ? file : "libz.so.1";
    tried = 0;
    pthread_mutex_unlock(&lock);
}
