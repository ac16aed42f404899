/*
 * files.h: the engine's own files, whatever the program does to itself. It may have as many open as its
 * limit lets it: the limit is then raised for the moment, as far as it may be, and so is that of a
 * file's size. It may give up its rights, as servers do: the run's folder is given to the user that it
 * becomes. It may change its root: the folder is then kept open. It may rule for itself what files are
 * (landlock): the folder and the engine are then added to what is allowed.
 */
#ifndef TRUEFLAME_NATIVE_FILES_H
#define TRUEFLAME_NATIVE_FILES_H

#include "engines/native/arena.h"
#include <stdint.h>

/* As open(2); the mode is that of the user alone. Closed by exec. */
long files_open(const char *path, int flags);

/* As memfd_create(2). Closed by exec. */
long files_create_memory(const char *name);

/* As rename(2). */
long files_rename(const char *from, const char *to);

/* Before the program becomes another user, with the call `number`; before it changes its root. */
void files_before_user(long number, const uint64_t *arguments);
void files_before_root(void);

/* Before the rules with this descriptor hold. */
void files_before_rules(long rules);

/* While what is between them runs, files may be as large as they can be at all. */
void files_begin_large(uint64_t *limit);
void files_end_large(uint64_t limit);

extern struct lock files_lock; /* held while the limit of their number is not the program's own */

#endif
