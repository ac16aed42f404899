/*
 * demangle.h: symbol names as their authors wrote them.
 */
#ifndef TRUEFLAME_DEMANGLE_H
#define TRUEFLAME_DEMANGLE_H

/* The readable form of a C++ or Rust symbol, without the hashes Rust adds; NULL when `symbol` is
 * not mangled, or is mangled so that its readable form would be absurdly long. The caller frees. */
char *demangle_symbol(const char *symbol);

#endif
