/*
 * record.h: the stages of `trueflame record`, one file each.
 */
#ifndef TRUEFLAME_RECORD_H
#define TRUEFLAME_RECORD_H

#include "engines/engine.h"

/* record_options.c: the command line. Returns OK, or an exit status to leave with; `--help` was
 * answered if that is 0 and *done is set. *otherwise is the engine for what *engine finds that it
 * cannot run, NULL for none. */
int record_parse(int argc, char **argv, struct record_options *options,
                 const struct engine **engine, const struct engine **otherwise, bool *done);

void record_options_free(struct record_options *options);

/* record_run.c: runs the program to its end; on the way a live line and checkpoints. Sets
 * *wait_status to what wait gave. */
int record_run(const struct record_options *options, const struct engine *engine,
               const char *run_folder, int *wait_status, struct error *error);

/* record_node.c: --node. In the child, whose environment the program will have; and what is worth
 * knowing before it runs. */
void record_prepare_node(void);
void record_hint_node(const struct record_options *options);

/* record_tidy.c: removes the files that only the options made the program write. `pids` are those of
 * the run, with spaces between. */
void record_tidy(const struct record_options *options, const char *run_folder, const char *pids);

/* record_python.c: the hash seed and trampolines. What is worth knowing before the program runs; in
 * the child, whose number it will have: its Pythons look for it in the environment; and after the
 * run, what is worth knowing only then, and whether the program is to be run anew, in the way that
 * options->python then says. */
void record_hint_python(struct record_options *options);
void record_hint_seed(const struct record_options *options, const char *run_folder);
void record_find_trampolines(struct record_options *options);
void record_prepare_python(const struct record_options *options, const char *run_folder);
bool record_needs_other_python(struct record_options *options, const char *run_folder);

/* record_write.c: raw files to a named profile. `ended` is false for a checkpoint; wait_status
 * is that of the first process. */
int record_write(const struct record_options *options, const char *run_folder, bool ended,
                 int wait_status, struct error *error);

/* 0 to 255, 128+N for signal N. */
int record_exit_status(int wait_status);

#endif
