/*
 * symbols.h: what a module's file says about addresses. Knows nothing of costs.
 */
#ifndef TRUEFLAME_SYMBOLS_H
#define TRUEFLAME_SYMBOLS_H

#include "profile/profile.h"

struct symbols_options {
    const char *const *debug_dirs; /* searched before the system's; NULL-terminated, may be NULL */
    bool debuginfod;               /* ask the network; never unless the user said so */
    const char *package_database;  /* dpkg's lists of files; NULL: where they normally are */
};

/* Fills in names, lines, locations and pieces of every module of `profile` whose file, or debug
 * file, can be found here (the build id must agree). Modules that cannot be found keep their
 * addresses and get a note; nothing here is fatal, so there is no error to return. */
void profile_symbolize(struct profile *profile, const struct symbols_options *options);

#endif
