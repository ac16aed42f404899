/*
 * files.h: the engine's own files. The program may have as many open as its limit lets it: the limit is
 * then raised for the moment, as far as it may be.
 */
#ifndef TRUEFLAME_NATIVE_FILES_H
#define TRUEFLAME_NATIVE_FILES_H

/* As open(2); the mode is that of the user alone. Closed by exec. */
long files_open(const char *path, int flags);

/* As memfd_create(2). Closed by exec. */
long files_create_memory(const char *name);

/* In the child of a fork, whose other threads are gone. */
void files_forked(void);

#endif
