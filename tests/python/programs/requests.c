/* Requests to the profiler, for benchmark.py to send through ctypes. */
#include <trueflame/trueflame.h>

void start(void)
{
    TRUEFLAME_ZERO();
    TRUEFLAME_START();
}

void stop(const char *name)
{
    TRUEFLAME_STOP();
    TRUEFLAME_DUMP(name);
}

void skip(const char *object)
{
    TRUEFLAME_SKIP_OBJECT(object);
}
