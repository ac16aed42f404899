#include "core/sort.h"

#include <stdint.h>

static void swap_items(uint8_t *a, uint8_t *b, size_t item_bytes)
{
    for (size_t i = 0; i < item_bytes; i++) {
        uint8_t byte = a[i];
        a[i] = b[i];
        b[i] = byte;
    }
}

static void sift_down(uint8_t *items, size_t root, size_t count, size_t item_bytes,
                      bool (*before)(const void *a, const void *b))
{
    for (size_t child; (child = 2 * root + 1) < count; root = child) {
        if (child + 1 < count && before(items + child * item_bytes, items + (child + 1) * item_bytes))
            child++;
        if (!before(items + root * item_bytes, items + child * item_bytes))
            return;
        swap_items(items + root * item_bytes, items + child * item_bytes, item_bytes);
    }
}

void sort_items(void *array, size_t count, size_t item_bytes,
                bool (*before)(const void *a, const void *b))
{
    uint8_t *items = array;
    bool sorted = true;

    for (size_t i = 1; i < count && sorted; i++)
        sorted = !before(items + i * item_bytes, items + (i - 1) * item_bytes);
    if (sorted)
        return;
    for (size_t i = count / 2; i-- > 0;)
        sift_down(items, i, count, item_bytes, before);
    for (size_t end = count; end-- > 1;) {
        swap_items(items, items + end * item_bytes, item_bytes);
        sift_down(items, 0, end, item_bytes, before);
    }
}
