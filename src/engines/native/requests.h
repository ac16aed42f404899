/*
 * requests.h: what the program asks of the profiler (include/trueflame/trueflame.h).
 */
#ifndef TRUEFLAME_NATIVE_REQUESTS_H
#define TRUEFLAME_NATIVE_REQUESTS_H

#include "engines/native/thread.h"

/* Do the bytes that end at `end`, of which `before` may be read, make a request? */
bool requests_end_at(const uint8_t *end, unsigned before);

/* The request that rax points to. The cache's lock is held. */
void requests_perform(struct native_thread *thread);

#endif
