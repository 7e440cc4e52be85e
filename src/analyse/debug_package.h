/*
 * debug_package: the Debian package that holds the debug information of a file.
 *
 * Packages list their files in /var/lib/dpkg/info; on systems without it nothing is known.
 */
#ifndef TIDE_ANALYSE_DEBUG_PACKAGE_H
#define TIDE_ANALYSE_DEBUG_PACKAGE_H

/* "libxml2-dbgsym"; NULL: the file is of no package. The caller frees it. */
char *debug_package(const char *path);

#endif
