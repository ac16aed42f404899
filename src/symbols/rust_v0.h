/*
 * rust_v0.h: Rust's own mangling, the one whose symbols begin with _R.
 */
#ifndef TRUEFLAME_RUST_V0_H
#define TRUEFLAME_RUST_V0_H

/* The readable form, without crate hashes; NULL when `symbol` is not such a symbol, or uses what
 * is not known here, or is absurdly long. The caller frees. */
char *rust_v0_demangle(const char *symbol);

#endif
