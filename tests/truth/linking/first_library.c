/* Loaded first; one function, calling back. */
void plugin(void (*callback)(void));
void plugin(void (*callback)(void))
{
    callback();
    callback();
    __asm__ volatile("nop");
}
void first_only(void);
__attribute__((noinline, noipa)) void first_only(void)
{
    __asm__ volatile("nop");
}
void enter(void (*callback)(void));
void enter(void (*callback)(void))
{
    first_only();
    plugin(callback);
    __asm__ volatile("nop");
}
