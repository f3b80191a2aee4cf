/* Replays a fuzz target over files and folders without libFuzzer: each argument is a file, or a
 * folder whose files are taken. Prints how many inputs ran; none at all is a failure. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t inputs;

static int run_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return -1;
    }
    uint8_t *data = NULL;
    size_t size = 0;
    size_t got;
    do {
        uint8_t *grown = realloc(data, size + 65536);
        if (grown == NULL) {
            abort();
        }
        data = grown;
        got = fread(data + size, 1, 65536, file);
        size += got;
    } while (got != 0);
    fclose(file);
    /* A block of exactly that size, so that reading beyond it is noticed. */
    uint8_t *exact = realloc(data, size == 0 ? 1 : size);
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
    inputs++;
    return 0;
}

static int run_path(const char *path) {
    DIR *folder = opendir(path);
    if (folder == NULL) {
        return run_file(path);
    }
    int status = 0;
    struct dirent *entry;
    while ((entry = readdir(folder)) != NULL) {
        char inner[4096];
        if (entry->d_name[0] == '.') {
            continue;
        }
        int len = snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
        status |= len < 0 || (size_t)len >= sizeof inner ? -1 : run_file(inner);
    }
    closedir(folder);
    return status;
}

int main(int argc, char **argv) {
    int status = 0;
    for (int i = 1; i < argc; i++) {
        if (run_path(argv[i]) != 0) {
            fprintf(stderr, "%s cannot be read\n", argv[i]);
            status = 1;
        }
    }
    printf("%zu inputs ran\n", inputs);
    return inputs == 0 ? 1 : status;
}
