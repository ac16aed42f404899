/*
 * colour.js: what colour a frame has.
 *
 * By origin, by object or by function name; in a difference, by change. The last three depend on
 * nothing but text or numbers, so a function has the same colour in every recording. The origin
 * palette is Okabe and Ito's and the scale of change runs from blue to orange: both can be told
 * apart by colour-blind readers, and nothing is said by colour alone (inlined frames are dotted
 * and slanted, new and vanished ones carry a sign, the legend has the words).
 */
import { baseName } from './names.js';

export const MODULE = { FILE: 0, ANON: 1, MARKER: 2, PYTHON: 3, JIT: 4 };
export const FUNCTION = { NATIVE: 0, ANON: 1, PYTHON: 2, JIT: 3, ROOT: 4, MARKER: 5 };

export const ORIGINS = [
    { id: 'yours', text: 'Your code', light: '#f2b56b', dark: '#8f5a10' },
    { id: 'library', text: 'Libraries', light: '#8fd0f5', dark: '#1f628c' },
    { id: 'system', text: 'System', light: '#c9ccd3', dark: '#4d525c' },
    { id: 'python', text: 'Python', light: '#f3e26e', dark: '#6e6410' },
    { id: 'jit', text: 'JIT', light: '#8bdcbf', dark: '#0d6b50' },
    { id: 'marker', text: 'Markers', light: '#e3b0cf', dark: '#7d3e66' },
];
const ORIGIN_INDEX = new Map(ORIGINS.map((origin, index) => [origin.id, index]));

const SYSTEM_OBJECT =
    /^(ld-linux|ld-|ld\.so|libc[.-]|libm[.-]|libmvec|libpthread|libdl[.-]|librt[.-]|libgcc_s|libresolv|libnss|\[vdso\]|linux-vdso|\[vsyscall\])/;
const LIBRARY_PLACE = /^\/(usr|lib|lib32|lib64|libx32|opt|nix|gnu|snap)\//;

function originOfModule(path, kind, hasPython) {
    const name = baseName(path);
    if (kind === MODULE.MARKER)
        return 'marker';
    if (kind === MODULE.PYTHON)
        return 'python';
    if (kind === MODULE.JIT || kind === MODULE.ANON)
        return 'jit';
    if (SYSTEM_OBJECT.test(name))
        return 'system';
    const isShared = /\.so(\.|$)/.test(name);
    if (isShared)
        return LIBRARY_PLACE.test(path) ? 'library' : 'yours';
    /* An interpreter's own code is a library to whoever profiles a Python program. */
    return hasPython && /^(lib)?python|^pypy/.test(name) ? 'library' : 'yours';
}

/* By function: index into ORIGINS. */
export function originsOf(recording) {
    const { modules, functions } = recording;
    const hasPython = functions.kind.includes(FUNCTION.PYTHON);
    const byModule = modules.path.map((path, i) =>
        ORIGIN_INDEX.get(originOfModule(path, modules.kind[i], hasPython)));
    const byKind = { [FUNCTION.PYTHON]: 'python', [FUNCTION.JIT]: 'jit', [FUNCTION.ANON]: 'jit',
                     [FUNCTION.MARKER]: 'marker', [FUNCTION.ROOT]: 'marker' };
    return Uint8Array.from(functions.kind, (kind, fn) =>
        (kind in byKind ? ORIGIN_INDEX.get(byKind[kind]) : byModule[functions.module[fn]] ?? 0));
}

/* FNV-1a: the same text has the same number everywhere and always. */
export function hashText(text) {
    let hash = 0x811c9dc5;
    for (let i = 0; i < text.length; i++)
        hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
    hash ^= hash >>> 13;
    hash = Math.imul(hash, 0x5bd1e995);
    return (hash ^ (hash >>> 15)) >>> 0;
}

/* A little lighter or darker, so that neighbours of one origin can be told apart. */
function shade(colour, shift) {
    const channels = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16) + shift);
    return `rgb(${channels.map((value) => Math.max(0, Math.min(255, value))).join(' ')})`;
}

function objectColour(text, dark) {
    const hash = hashText(text);
    const hue = hash % 24 * 15;
    const shift = (hash >>> 8) % 3 * 4;
    return dark ? `hsl(${hue} 42% ${26 + shift}%)` : `hsl(${hue} 62% ${74 + shift}%)`;
}

/* The colours of fire, as flame graphs have had since the first. */
function nameColour(text, dark) {
    const hash = hashText(text);
    const hue = 8 + hash % 44;
    const shift = (hash >>> 8) % 12;
    return dark ? `hsl(${hue} 62% ${24 + shift}%)` : `hsl(${hue} 88% ${66 + shift}%)`;
}

/* change in -1 ... 1: how much less or more, against the larger of the two. */
export function changeColour(change, dark) {
    if (change === 0)
        return dark ? '#4a4d54' : '#d9dbe0';
    const strength = Math.sqrt(Math.min(1, Math.abs(change)));
    if (dark)
        return change > 0 ? `hsl(22 ${30 + 60 * strength}% ${30 + 6 * strength}%)`
                          : `hsl(212 ${25 + 50 * strength}% ${32 + 6 * strength}%)`;
    return change > 0 ? `hsl(24 ${50 + 45 * strength}% ${86 - 20 * strength}%)`
                      : `hsl(210 ${45 + 40 * strength}% ${88 - 18 * strength}%)`;
}

/* Colours by function number for the chosen way, made when first asked for. */
export class Palette {
    constructor(recording, way, dark) {
        this.recording = recording;
        this.way = way;
        this.dark = dark;
        this.origins = originsOf(recording);
        this.colours = new Array(recording.functions.count);
    }

    ofFunction(fn) {
        return this.colours[fn] ??= this.make(fn);
    }

    make(fn) {
        const { functions, modules } = this.recording;
        if (this.way === 'object')
            return objectColour(baseName(modules.path[functions.module[fn]] ?? ''), this.dark);
        if (this.way === 'name')
            return nameColour(functions.name[fn], this.dark);
        const origin = ORIGINS[this.origins[fn]];
        const shift = hashText(functions.name[fn]) % 5 * 5 - 10;
        return shade(this.dark ? origin.dark : origin.light, shift);
    }
}
