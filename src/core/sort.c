#include "core/sort.h"
#include "core/platform.h"

typedef bool before_function(const void *a, const void *b);

/* Merges [first, middle) and [middle, end) of `from` into the same places of `to`. */
static void merge(const uint8_t *from, uint8_t *to, size_t first, size_t middle, size_t end,
                  size_t item_bytes, before_function *before)
{
    size_t left = first, right = middle;

    if (middle == end || !before(from + middle * item_bytes, from + (middle - 1) * item_bytes)) {
        __builtin_memcpy(to + first * item_bytes, from + first * item_bytes,
                         (end - first) * item_bytes);
        return;
    }
    for (size_t at = first; at < end; at++) {
        bool take_right = left == middle || (right < end && before(from + right * item_bytes,
                                                                   from + left * item_bytes));
        size_t taken = take_right ? right++ : left++;
        __builtin_memcpy(to + at * item_bytes, from + taken * item_bytes, item_bytes);
    }
}

void sort_items(void *array, size_t count, size_t item_bytes, before_function *before)
{
    uint8_t *items = array;
    bool sorted = true;

    for (size_t i = 1; i < count && sorted; i++)
        sorted = !before(items + i * item_bytes, items + (i - 1) * item_bytes);
    if (sorted)
        return;
    uint8_t *buffer = platform_allocate(count * item_bytes);
    uint8_t *from = items, *to = buffer;
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t first = 0; first < count; first += 2 * width) {
            size_t middle = first + width < count ? first + width : count;
            size_t end = middle + width < count ? middle + width : count;
            merge(from, to, first, middle, end, item_bytes, before);
        }
        uint8_t *merged = to;
        to = from;
        from = merged;
    }
    if (from != items)
        __builtin_memcpy(items, from, count * item_bytes);
    platform_release(buffer, count * item_bytes);
}
