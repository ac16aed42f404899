/*
 * raw.h: a run's raw files become one profile.
 */
#ifndef TRUEFLAME_PROFILE_RAW_H
#define TRUEFLAME_PROFILE_RAW_H

#include "profile/profile.h"

struct raw_run {
    struct profile *profile;
    char **skip_objects;   /* patterns that programs of the run asked to skip; NULL-terminated */
    char **notes;          /* what the user should be told; NULL-terminated */
    size_t lost_processes; /* that did not get to write all their counts */
};

/* Reads every raw file in `folder`. Processes are numbered by their place in the tree of
 * processes, so that the numbers do not depend on pids. ERROR if there is none, or one is damaged:
 * then nothing is to be released. */
int raw_read_run(const char *folder, struct raw_run *run, struct error *error);

/* Releases the texts; the profile is the caller's. */
void raw_run_free(struct raw_run *run);

#endif
