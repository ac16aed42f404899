/*
 * loop.c: a mix of what small processors are measured with: lists sorted and searched, matrices
 * multiplied, text scanned by a state machine, and a checksum over all of it.
 *
 *     loop ROUNDS
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define LIST_LENGTH 200
#define MATRIX_SIDE 20

struct item {
    struct item *next;
    int16_t key, value;
};

static struct item items[LIST_LENGTH];
static int16_t left[MATRIX_SIDE][MATRIX_SIDE], right[MATRIX_SIDE][MATRIX_SIDE];
static int32_t product[MATRIX_SIDE][MATRIX_SIDE];
static const char text[] = "5012,1234,-874,+122,35.54400,.1234500,-110.700,+0.64400,5.500e+3,"
                           "-.123e-2,-87e+832,+0.6e-12,T0.3e-1F,-T.T++Tq,1T3.4e4z,34.0e-T^";

static uint16_t checksum_byte(uint8_t byte, uint16_t sum)
{
    for (int i = 0; i < 8; i++) {
        int carry = (byte ^ sum) & 1;
        byte >>= 1;
        sum >>= 1;
        if (carry)
            sum ^= 0xa001;
    }
    return sum;
}

static uint16_t checksum(uint32_t value, uint16_t sum)
{
    for (int i = 0; i < 32; i += 8)
        sum = checksum_byte((uint8_t)(value >> i), sum);
    return sum;
}

static struct item *make_list(unsigned seed)
{
    for (int i = 0; i < LIST_LENGTH; i++) {
        seed = seed * 1103515245u + 12345u;
        items[i] = (struct item){.next = i + 1 < LIST_LENGTH ? &items[i + 1] : NULL,
                                 .key = (int16_t)(seed >> 16),
                                 .value = (int16_t)i};
    }
    return items;
}

/* Merges runs of 1, 2, 4, ... until the list is one run. */
static struct item *sort_list(struct item *list,
                              int (*order)(const struct item *, const struct item *))
{
    for (int width = 1;; width *= 2) {
        struct item *from = list, *last = NULL;
        int merges = 0;
        list = NULL;
        while (from) {
            struct item *other = from;
            int size = 0, other_size = width;
            merges++;
            while (size < width && other) {
                size++;
                other = other->next;
            }
            while (size > 0 || (other_size > 0 && other)) {
                struct item *taken;
                if (size == 0 || (other_size > 0 && other && order(other, from) < 0)) {
                    taken = other;
                    other = other->next;
                    other_size--;
                } else {
                    taken = from;
                    from = from->next;
                    size--;
                }
                if (last)
                    last->next = taken;
                else
                    list = taken;
                last = taken;
            }
            from = other;
        }
        last->next = NULL;
        if (merges <= 1)
            return list;
    }
}

static int by_key(const struct item *a, const struct item *b)
{
    return a->key - b->key;
}

static int by_value(const struct item *a, const struct item *b)
{
    return a->value - b->value;
}

static int count_between(const struct item *list, int16_t low, int16_t high)
{
    int count = 0;

    for (; list; list = list->next)
        if (list->key >= low && list->key < high)
            count++;
    return count;
}

static uint16_t work_on_lists(unsigned round, uint16_t sum)
{
    struct item *list = make_list(round);

    for (int16_t low = -30000; low < 30000; low = (int16_t)(low + 6000))
        sum = checksum((uint32_t)count_between(list, low, (int16_t)(low + 6000)), sum);
    list = sort_list(list, by_key);
    sum = checksum((uint32_t)list->key, sum);
    list = sort_list(list, by_value);
    return checksum((uint32_t)list->value, sum);
}

static uint16_t work_on_matrices(unsigned round, uint16_t sum)
{
    for (int i = 0; i < MATRIX_SIDE; i++)
        for (int j = 0; j < MATRIX_SIDE; j++) {
            left[i][j] = (int16_t)(i * j + (int)round);
            right[i][j] = (int16_t)(i - j + 3);
        }
    for (int i = 0; i < MATRIX_SIDE; i++)
        for (int j = 0; j < MATRIX_SIDE; j++) {
            int32_t cell = 0;
            for (int k = 0; k < MATRIX_SIDE; k++)
                cell += left[i][k] * right[k][j];
            product[i][j] = cell;
        }
    for (int i = 0; i < MATRIX_SIDE; i++)
        sum = checksum((uint32_t)product[i][(i + (int)round) % MATRIX_SIDE], sum);
    return sum;
}

enum state { START, SIGN, INTEGER, FRACTION, EXPONENT, INVALID, STATES };

static enum state next_state(enum state state, char c)
{
    int digit = c >= '0' && c <= '9';

    switch (state) {
    case START:
        return digit ? INTEGER : c == '+' || c == '-' ? SIGN : c == '.' ? FRACTION : INVALID;
    case SIGN:
        return digit ? INTEGER : c == '.' ? FRACTION : INVALID;
    case INTEGER:
        return digit ? INTEGER : c == '.' ? FRACTION : c == 'e' ? EXPONENT : INVALID;
    case FRACTION:
        return digit ? FRACTION : c == 'e' ? EXPONENT : INVALID;
    case EXPONENT:
        return digit || c == '+' || c == '-' ? EXPONENT : INVALID;
    default:
        return INVALID;
    }
}

static uint16_t work_on_text(uint16_t sum)
{
    uint32_t seen[STATES] = {0};
    enum state state = START;

    for (const char *at = text; *at; at++) {
        if (*at == ',') {
            seen[state]++;
            state = START;
        } else {
            state = next_state(state, *at);
        }
    }
    for (int i = 0; i < STATES; i++)
        sum = checksum(seen[i], sum);
    return sum;
}

int main(int count, char **arguments)
{
    unsigned rounds = count > 1 ? (unsigned)atoi(arguments[1]) : 1000;
    uint16_t sum = 0;

    for (unsigned round = 0; round < rounds; round++) {
        sum = work_on_lists(round, sum);
        sum = work_on_matrices(round, sum);
        for (int i = 0; i < 8; i++)
            sum = work_on_text(sum);
    }
    printf("%04x\n", sum);
    return 0;
}
