/*
 * tasks.c: the processes and threads of the stepped program, and the signals delivered to them.
 */
#include "oracle.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct process *processes;
static struct task *tasks;

struct signal_frame {
    struct process *process;
    uint64_t ucontext;
    int number;
};
static struct signal_frame *signal_frames;
static size_t signal_frame_count;

void signal_remember(struct process *process, uint64_t ucontext, int number)
{
    for (size_t i = 0; i < signal_frame_count; i++)
        if (signal_frames[i].process == process && signal_frames[i].ucontext == ucontext) {
            signal_frames[i].number = number;
            return;
        }
    signal_frames = realloc(signal_frames, (signal_frame_count + 1) * sizeof *signal_frames);
    signal_frames[signal_frame_count++] = (struct signal_frame){process, ucontext, number};
}

int signal_at(void *data, uint64_t ucontext)
{
    int any = -1;
    for (size_t i = 0; i < signal_frame_count; i++) {
        if (signal_frames[i].ucontext != ucontext)
            continue;
        if (signal_frames[i].process == data)
            return signal_frames[i].number;
        any = signal_frames[i].number; /* made before a fork */
    }
    if (any < 0)
        die("no signal was delivered at %#lx", (unsigned long)ucontext);
    return any;
}

unsigned long status_field(pid_t id, const char *field, int base)
{
    char path[64], line[256];
    unsigned long value = 0;
    snprintf(path, sizeof path, "/proc/%d/status", id);
    FILE *status = fopen(path, "r");
    if (!status)
        die("thread %d is gone", id);
    while (fgets(line, sizeof line, status))
        if (strncmp(line, field, strlen(field)) == 0)
            value = strtoul(line + strlen(field), NULL, base);
    fclose(status);
    return value;
}

void process_load_image(struct process *process)
{
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/%d/exe", process->id);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0)
        die("%s: %s", link, strerror(errno));
    path[length] = 0;
    process->image = image_read(path);
    process->names = calloc(process->image->symbol_count + 1, sizeof *process->names);
    for (size_t i = 0; i < process->image->symbol_count; i++)
        process->names[i] = tree_intern(process->image->symbols[i].name);
}

static struct process *process_of(pid_t task)
{
    pid_t id = (pid_t)status_field(task, "Tgid:", 10);
    struct process *process, *parent = NULL;
    for (process = processes; process; process = process->next)
        if (process->id == id)
            return process;
    pid_t parent_id = (pid_t)status_field(task, "PPid:", 10);
    for (parent = processes; parent && parent->id != parent_id; parent = parent->next)
        ;
    process = calloc(1, sizeof *process);
    *process = (struct process){
        .id = id, .recording = parent ? parent->recording : true, .next = processes};
    processes = process;
    if (parent) {
        process->image = parent->image;
        process->names = parent->names;
    }
    return process;
}

struct task *task_find(pid_t id)
{
    struct task *task = tasks;
    while (task && task->id != id)
        task = task->next;
    return task;
}

struct task *task_of(pid_t id)
{
    struct task *task = task_find(id);
    if (task)
        return task;
    task = calloc(1, sizeof *task);
    *task = (struct task){.id = id, .process = process_of(id), .fresh = true, .next = tasks};
    return tasks = task;
}

void task_forget(struct task *task)
{
    struct task **link = &tasks;
    while (*link != task)
        link = &(*link)->next;
    *link = task->next;
    free(task);
}
