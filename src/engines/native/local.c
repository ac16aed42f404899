/* local.c: see local.h. */
#include "engines/native/local.h"
#include "engines/x86_64/stack_pointer.h"

/* code_function.engine_number of functions whose jumps are not local: no sixteen bits. */
#define NOT_LOCAL 0x10000u

bool local_is_known(const struct code_function *function)
{
    return function->engine_number && function->engine_number != NOT_LOCAL;
}

bool local_may_lead(const struct translation *t, unsigned index)
{
    static uint32_t numbers; /* given so far */
    if (!t->function || t->plt || t->checked)
        return false;
    for (unsigned i = 0; i < index; i++)
        if (stack_pointer_may_move(&t->instructions[i]))
            return false;
    if (!t->function->engine_number && numbers + 1 < NOT_LOCAL)
        t->function->engine_number = ++numbers;
    return local_is_known(t->function);
}

void local_look_at(const struct translation *t)
{
    if (!t->function || t->function->engine_number == NOT_LOCAL)
        return;
    for (unsigned i = 0; i < t->count; i++)
        if (stack_pointer_is_set(&t->instructions[i])) {
            if (t->function->engine_number)
                cache_remake_function(t->function); /* by its number, so first */
            t->function->engine_number = NOT_LOCAL;
            return;
        }
}
