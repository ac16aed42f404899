/* progress.c: see progress.h. */
#include "engines/native/files.h"
#include "engines/native/progress.h"
#include "core/counts.h"
#include "engines/native/line_counters.h"
#include "engines/native/record.h"
#include "engines/native/sys.h"
#include "engines/native/text.h"
#include <fcntl.h>

#define INTERVAL_TICKS 500000000ul /* a few tenths of a second */
#define SHARE          20          /* of the time, at most one part in so many goes into it */

static uint64_t next_ticks;

static uint64_t ticks(void)
{
    return __builtin_ia32_rdtsc();
}

static uint64_t total(void)
{
    uint64_t sum = 0;
    if (!options.line_detail) {
        for (uint32_t i = core.tree.inherited; i < core.tree.count; i++)
            sum += tree_context(&core.tree, i)->self_instructions;
        return sum;
    }
    sum = line_counters_instructions();
    counts_flush(&core.counts);
    struct counts_walk walk = {0};
    for (const struct count_run *run; (run = counts_next(&core.counts, &walk));)
        for (uint32_t i = 0; i < run->blocks; i++)
            sum += run->count * core.blocks[counts_key_block(run->key) + i].instructions;
    return sum;
}

static void write_status(void)
{
    char path[4096];
    struct string_builder builder = {path, 0, sizeof path};
    uint64_t status[2] = {total(), core.tree.count};
    string_add(&builder, options.run_folder);
    string_add(&builder, "/status.");
    string_add_number(&builder, sys(getpid), 10);
    long file = files_open(path, O_WRONLY | O_CREAT);
    if (sys_failed(file))
        return;
    sys(write, file, status, sizeof status);
    sys(close, file);
}

void progress_tell(void)
{
    uint64_t now = ticks();
    if (now < next_ticks)
        return;
    if (next_ticks)
        write_status();
    uint64_t cost = ticks() - now;
    next_ticks = now + (SHARE * cost > INTERVAL_TICKS ? SHARE * cost : INTERVAL_TICKS);
}
