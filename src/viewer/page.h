/*
 * page.h: the viewer's page, in the two halves between which a recording is written (base64, see
 * formats/html.c). Made from the modules by bundle.py when the program is built.
 */
#ifndef TRUEFLAME_VIEWER_PAGE_H
#define TRUEFLAME_VIEWER_PAGE_H

#include <stddef.h>

extern const unsigned char viewer_page_head[];
extern const size_t viewer_page_head_bytes;
extern const unsigned char viewer_page_tail[];
extern const size_t viewer_page_tail_bytes;

#endif
