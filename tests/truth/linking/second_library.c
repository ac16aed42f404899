/* Loaded second; one function, calling back. */
void plugin(void (*callback)(void));
void plugin(void (*callback)(void))
{

    callback();
    __asm__ volatile("nop");
}
void second_only(void);
__attribute__((noinline, noipa)) void second_only(void)
{
    __asm__ volatile("nop");
}
void enter(void (*callback)(void));
void enter(void (*callback)(void))
{
    second_only();
    plugin(callback);
    __asm__ volatile("nop");
}
