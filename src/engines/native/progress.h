/*
 * progress.h: how far the program is, for the line on the terminal: the status file that
 * engines/engine.h describes, now and then, when a thread is out of the cache anyway. What a thread
 * ran since its last call or return is not in it yet.
 */
#ifndef TRUEFLAME_NATIVE_PROGRESS_H
#define TRUEFLAME_NATIVE_PROGRESS_H

/* If it is time. The cache's lock is held. */
void progress_tell(void);

#endif
