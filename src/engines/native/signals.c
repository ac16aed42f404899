#include "engines/native/signals.h"
#include "engines/native/text.h"
void signals_init(struct native_thread *thread) { (void)thread; }
void signals_raise_fetch(struct native_thread *thread, bool illegal)
{
    char a[32]; struct string_builder b = {a,0,32}; string_add_number(&b, thread->pc, 16);
    fail(illegal ? "illegal instruction at 0x" : "jump to unmapped 0x", a, NULL);
}
