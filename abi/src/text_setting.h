/* Settings that are texts, shared by config and options. */
#ifndef DM_ABI_TEXT_SETTING_H
#define DM_ABI_TEXT_SETTING_H

#include "engine/options.h"

/* Stores a copy. DEEM_OK or DEEM_E_MEMORY. */
int32_t dm_text_setting_put(dm_text_setting *setting, dm_span text, dm_error *error);

/* As put, when dm_text_setting_check allows it. */
int32_t dm_text_setting_checked(dm_text_setting *setting, dm_span text, const char *what,
                                int32_t code, dm_error *error);

/* Overwrites and frees the text (it may be a key); the setting is not set. */
void dm_text_setting_wipe(dm_text_setting *setting);

#endif
