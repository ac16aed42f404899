/* The other side of the PLT: functions that call, and one that is called back. */
#define NOINLINE __attribute__((noinline, noclone, noipa))

volatile unsigned long library_sink;

NOINLINE void library_leaf(void)
{
    library_sink++;
}

NOINLINE void library_work(void)
{
    library_leaf(); /* through the library's own PLT */
    library_sink++;
}

NOINLINE void library_call(void (*callback)(void))
{
    callback();
    library_sink++;
}
