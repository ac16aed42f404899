/*
 * package.h: which Debian package has the debug info of an installed file.
 */
#ifndef TRUEFLAME_PACKAGE_H
#define TRUEFLAME_PACKAGE_H

/* The name of the package to install, allocated; NULL when `path` was not installed from a
 * package or this is not Debian. `database` is dpkg's directory of lists, normally
 * PACKAGE_DATABASE. Reads the lists (some megabytes) each time. */
char *package_with_debug_info(const char *database, const char *path);

#define PACKAGE_DATABASE "/var/lib/dpkg/info"

#endif
