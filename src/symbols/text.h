/*
 * text.h: texts from files, made fit to be shown.
 */
#ifndef TRUEFLAME_SYMBOLS_TEXT_H
#define TRUEFLAME_SYMBOLS_TEXT_H

/* Replaces control characters, and bytes that are not UTF-8, by `?`. */
void text_make_printable(char *text);

#endif
