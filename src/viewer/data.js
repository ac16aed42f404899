/*
 * data.js: reads the recording that is embedded in the page.
 *
 * src/formats/html.c describes the bytes: base64 of a zlib stream of varint columns. Everything
 * becomes typed arrays; text becomes strings once, and names are looked up by number.
 *
 * What comes out (`recording`):
 *   meta       Map of text to text
 *   modules    { path[], kind, note[] }              functions  { name[], module, kind, file[], line }
 *   processes  { command[] }   threads { process, ordinal, name[] }   parts { name[], label[] }
 *   roots      { thread, part, first }               nodes of root r: first[r] ... first[r + 1]
 *   nodes      { count, parent, frame, self, calls, oldSelf, oldCalls, presence }
 *              in preorder; parent -1 for a root; frame = function * 2 + inlined;
 *              the last three are null unless the page shows a difference
 *   lines      { function, file, line, self }, sorted by function
 *   sources    Map of file to text
 */
import { Counts } from './counts.js';

const MAGIC = 'TFPG';
const VERSION = 1;
const FLAG_DIFF = 1;

function bytesFromBase64(text) {
    if (Uint8Array.fromBase64)
        return Uint8Array.fromBase64(text);
    const binary = atob(text);
    const bytes = new Uint8Array(binary.length);
    for (let i = 0; i < binary.length; i++)
        bytes[i] = binary.charCodeAt(i);
    return bytes;
}

async function inflate(bytes) {
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
    return new Uint8Array(await new Response(stream).arrayBuffer());
}

class Reader {
    constructor(bytes) {
        this.bytes = bytes;
        this.at = 0;
    }

    number() {
        let value = 0;
        let scale = 1;
        for (;;) {
            const byte = this.bytes[this.at++];
            value += (byte & 127) * scale;
            if (!(byte & 128))
                return value;
            scale *= 128;
        }
    }

    numbers(size) {
        const column = new Uint32Array(size);
        for (let i = 0; i < size; i++) {
            const byte = this.bytes[this.at];
            if (byte < 128) {
                column[i] = byte;
                this.at++;
            } else {
                column[i] = this.number();
            }
        }
        return column;
    }

    /* Seven bits a byte: four bytes fill 28 bits, eight fill 56, the rest is the top byte. */
    counts(size) {
        const column = new Counts(size);
        const { low, high } = column;
        const bytes = this.bytes;
        let at = this.at;
        for (let i = 0; i < size; i++) {
            let byte = bytes[at++];
            let bits = byte & 127;
            for (let shift = 7; byte > 127 && shift < 28; shift += 7) {
                byte = bytes[at++];
                bits |= (byte & 127) << shift;
            }
            if (byte < 128) {
                low[i] = bits;
                continue;
            }
            let middle = 0;
            for (let shift = 0; byte > 127 && shift < 28; shift += 7) {
                byte = bytes[at++];
                middle |= (byte & 127) << shift;
            }
            let top = 0;
            for (let shift = 0; byte > 127; shift += 7) {
                byte = bytes[at++];
                top |= (byte & 127) << shift;
            }
            low[i] = bits | (middle << 28);
            high[i] = (middle >>> 4) | (top << 24);
        }
        this.at = at;
        return column;
    }

    strings() {
        const lengths = this.numbers(this.number());
        const decoder = new TextDecoder();
        const strings = new Array(lengths.length);
        for (let i = 0; i < lengths.length; i++) {
            strings[i] = decoder.decode(this.bytes.subarray(this.at, this.at + lengths[i]));
            this.at += lengths[i];
        }
        return strings;
    }
}

/* Preorder, each node saying how many levels it climbs from the one before it. */
function readParents(reader, count, first) {
    const parent = new Int32Array(count);
    const climb = reader.numbers(count);
    let root = 0;
    for (let i = 0; i < count; i++) {
        while (first[root] < i)
            root++;
        if (first[root] === i) {
            parent[i] = -1;
            continue;
        }
        let above = i - 1;
        for (let levels = climb[i]; levels > 0; levels--)
            above = parent[above];
        parent[i] = above;
    }
    return parent;
}

function readNodes(reader, first, diff) {
    const count = first[first.length - 1];
    const parent = readParents(reader, count, first);
    const frame = reader.numbers(count);
    const self = reader.counts(count);
    const calls = reader.counts(count);
    const oldSelf = diff ? reader.counts(count) : null;
    const oldCalls = diff ? reader.counts(count) : null;
    const presence = diff ? Uint8Array.from(reader.numbers(count)) : null;
    return { count, parent, frame, self, calls, oldSelf, oldCalls, presence };
}

function readRoots(reader) {
    const count = reader.number();
    const thread = reader.numbers(count);
    const part = reader.numbers(count);
    const sizes = reader.numbers(count);
    const first = new Uint32Array(count + 1);
    for (let i = 0; i < count; i++)
        first[i + 1] = first[i] + sizes[i];
    return { count, thread, part, first };
}

function readLines(reader, strings) {
    const count = reader.number();
    const fn = reader.numbers(count);
    const file = reader.numbers(count);
    const line = reader.numbers(count);
    const self = reader.counts(count);
    return { count, function: fn, file: texts(strings, file), line, self };
}

function texts(strings, ids) {
    return Array.from(ids, (id) => strings[id]);
}

export function parseRecording(bytes) {
    const reader = new Reader(bytes);
    if (String.fromCharCode(...bytes.subarray(0, 4)) !== MAGIC || bytes[4] !== VERSION)
        throw new Error('The data in this page is damaged.');
    reader.at = 5;
    const diff = (reader.number() & FLAG_DIFF) !== 0;
    const strings = reader.strings();
    const textColumn = (count) => texts(strings, reader.numbers(count));

    const meta = new Map();
    for (let left = reader.number(); left > 0; left--) {
        const key = strings[reader.number()];
        meta.set(key, strings[reader.number()]);
    }
    let count = reader.number();
    const modules = { count, path: textColumn(count), kind: reader.numbers(count),
                      note: textColumn(count) };
    count = reader.number();
    const functions = { count, name: textColumn(count), module: reader.numbers(count),
                        kind: reader.numbers(count), file: textColumn(count),
                        line: reader.numbers(count) };
    count = reader.number();
    const processes = { count, command: textColumn(count) };
    count = reader.number();
    const threads = { count, process: reader.numbers(count), ordinal: reader.numbers(count),
                      name: textColumn(count) };
    count = reader.number();
    const parts = { count, name: textColumn(count), label: textColumn(count) };
    const roots = readRoots(reader);
    const nodes = readNodes(reader, roots.first, diff);
    const lines = readLines(reader, strings);
    const sources = new Map();
    for (let left = reader.number(); left > 0; left--) {
        const file = strings[reader.number()];
        sources.set(file, strings[reader.number()]);
    }
    return { diff, meta, modules, functions, processes, threads, parts, roots, nodes, lines,
             sources };
}

export async function readRecording(base64) {
    return parseRecording(await inflate(bytesFromBase64(base64.trim())));
}
