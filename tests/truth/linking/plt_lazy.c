/*
 * Lazy binding: stubs belong to whoever called them, and the resolver, which runs once a function,
 * stands beside the function that it finds, never above it.
 *
 * build: dynamic -Wl,-z,lazy
 * with: libplt.so = plt_library.c -Wl,-z,lazy
 * link: libplt.so
 * paths:
 *     main;library_work;library_leaf
 *     main;tail;library_leaf
 *     main;library_call;callback
 *     main;library_leaf
 *     main;_dl_runtime_resolve_xsave|_dl_runtime_resolve_xsavec|_dl_runtime_resolve_fxsave
 *     library_work;_dl_runtime_resolve_xsave|_dl_runtime_resolve_xsavec|_dl_runtime_resolve_fxsave
 * never:
 *     _dl_runtime_resolve_xsave|_dl_runtime_resolve_xsavec|_dl_runtime_resolve_fxsave;library_work
 *     _dl_runtime_resolve_xsave|_dl_runtime_resolve_xsavec|_dl_runtime_resolve_fxsave;library_leaf
 *     _dl_runtime_resolve_xsave|_dl_runtime_resolve_xsavec|_dl_runtime_resolve_fxsave;library_call
 *     _dl_runtime_resolve_xsave|_dl_runtime_resolve_xsavec|_dl_runtime_resolve_fxsave;main
 *     _dl_fixup;library_work
 *     _dl_fixup;library_leaf
 *     library_work@plt
 *     library_leaf@plt
 *     library_work;library_work
 *     main;main
 *     .plt
 */
#define NOINLINE __attribute__((noinline, noclone, noipa))

void library_leaf(void);
void library_work(void);
void library_call(void (*callback)(void));

static volatile unsigned long sink;

NOINLINE void callback(void)
{
    sink++;
}

NOINLINE void tail(void)
{
    library_leaf();
    sink++;
    library_leaf(); /* a jump into the PLT */
}

int main(void)
{
    for (int i = 0; i < 3; i++) {
        library_work();
        tail();
        library_call(callback);
    }
    return 0;
}
