#ifndef TRUEFLAME_NATIVE_SIGNALS_H
#define TRUEFLAME_NATIVE_SIGNALS_H

#include "engines/native/thread.h"

void signals_init(struct native_thread *thread);
void signals_raise_fetch(struct native_thread *thread, bool illegal);

#endif
