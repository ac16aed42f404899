/*
 * package.h: which Debian package has the debug info of an installed file.
 */
#ifndef TRUEFLAME_PACKAGE_H
#define TRUEFLAME_PACKAGE_H

#include <stddef.h>

/* For each of `count` paths the package to install, allocated, or NULL where the path was not
 * installed from a package or this is not Debian. `database` is dpkg's directory of lists,
 * normally PACKAGE_DATABASE; all of them are read, some megabytes, once for all paths. */
void packages_with_debug_info(const char *database, size_t count, const char *const *paths,
                              char **packages);

#define PACKAGE_DATABASE "/var/lib/dpkg/info"

#endif
