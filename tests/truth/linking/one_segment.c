/*
 * A library whose code is in its first segment, as older linkers make it: it is mapped whole and
 * executable, and its data over the end of that. It keeps its names.
 *
 * build: dynamic -Wl,-z,now
 * with: libplt.so = plt_library.c -Wl,-z,now -Wl,-z,noseparate-code
 * link: libplt.so
 * paths:
 *     main;library_work;library_leaf
 *     main;library_leaf
 * never:
 *     [anon]
 */
void library_leaf(void);
void library_work(void);

int main(void)
{
    library_work();
    library_leaf();
    return 0;
}
