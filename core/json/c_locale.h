/* The C locale, so that numbers are read and written the same whatever locale the program has set
 * (wire contract section 9, trap 7). */
#ifndef DM_JSON_C_LOCALE_H
#define DM_JSON_C_LOCALE_H

#include <locale.h>

/* Made once, never freed. Any thread. */
locale_t dm_json_c_locale(void);

#endif
