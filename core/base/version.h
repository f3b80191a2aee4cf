/* The library's version, as CMakeLists.txt says it. */
#ifndef DM_BASE_VERSION_H
#define DM_BASE_VERSION_H

#ifndef DM_VERSION
#define DM_VERSION "0.1.0"
#endif

#endif
