/*
 * run_folder.h: whose the folder is that engines leave their files in.
 *
 * Servers give up their rights while they run. Before they do, the folder is given to the first other
 * user: who runs the recording has all rights anyway. With more than one, all may write, but not change
 * what others have.
 */
#ifndef TRUEFLAME_CORE_RUN_FOLDER_H
#define TRUEFLAME_CORE_RUN_FOLDER_H

#include <stdint.h>

enum run_folder_change { RUN_FOLDER_STAYS, RUN_FOLDER_IS_GIVEN, RUN_FOLDER_IS_OPENED };

#define RUN_FOLDER_OPEN_MODE 01733

/* The process, whose rights are those of `effective`, becomes `user`; -1: it stays who it is. */
static inline enum run_folder_change run_folder_before_user(uint32_t user, uint32_t effective,
                                                            uint32_t owner)
{
    if (!user || user == UINT32_MAX || effective || owner == user)
        return RUN_FOLDER_STAYS;
    return owner ? RUN_FOLDER_IS_OPENED : RUN_FOLDER_IS_GIVEN;
}

#endif
