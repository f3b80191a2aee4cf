#include "text_setting.h"

#include <string.h>

#include "deemster.h"

int32_t dm_text_setting_put(dm_text_setting *setting, dm_span text, dm_error *error) {
    dm_error_clear(error);
    dm_bytes copy = {0};
    if (dm_bytes_append(&copy, text.data, text.len) != 0) {
        return DEEM_E_MEMORY;
    }
    dm_text_setting_wipe(setting);
    setting->text = copy;
    setting->is_set = 1;
    return DEEM_OK;
}

int32_t dm_text_setting_checked(dm_text_setting *setting, dm_span text, const char *what,
                                int32_t code, dm_error *error) {
    int32_t status = dm_text_setting_check(text, what, code, error);
    return status != DEEM_OK ? status : dm_text_setting_put(setting, text, error);
}

void dm_text_setting_wipe(dm_text_setting *setting) {
    if (setting->text.data != NULL) {
        explicit_bzero(setting->text.data, setting->text.cap);
    }
    dm_bytes_free(&setting->text);
    setting->is_set = 0;
}
