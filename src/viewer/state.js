/*
 * state.js: all that one sees, in the address.
 *
 * The state is a flat record. Written to the fragment with defaults left out, so an untouched page
 * has a clean address; read back with everything checked, since anybody can type an address.
 * Numbers of functions, nodes and threads are those of this page.
 *
 * Moves one would want to undo make a new entry in the history; selecting, scrolling and typing
 * replace the current one.
 */
import { STEPS } from './steps.js';

const text = { read: (value) => value, write: (value) => value };
const whole = {
    read: (value) => (/^\d{1,10}$/.test(value) ? Number(value) : undefined),
    write: String,
};
const flag = { read: (value) => value === '1', write: () => '1' };
const oneOf = (...values) => ({
    read: (value) => (values.includes(value) ? value : undefined),
    write: (value) => value,
});
const stepList = {
    read: (value) => value.split('.').map((part) => ({ kind: part[0],
                                                       argument: Number(part.slice(1)) }))
        .filter((step) => Object.hasOwn(STEPS, step.kind) && Number.isInteger(step.argument)),
    write: (steps) => steps.map((step) => step.kind + (step.argument || '0')).join('.'),
};

export const VIEWS = ['flame', 'bottom', 'sandwich', 'functions', 'source', 'changes'];

/* name: [key in the address, default, how to read and write] */
const FIELDS = {
    view: ['v', 'flame', oneOf(...VIEWS)],
    process: ['pr', -1, whole],
    thread: ['th', -1, whole],
    part: ['pa', -1, whole],
    steps: ['s', [], stepList],
    fn: ['f', -1, whole],
    zoom: ['z', 0, whole],
    node: ['n', -1, whole],
    callersZoom: ['zc', 0, whole],
    callersNode: ['nc', -1, whole],
    query: ['q', '', text],
    regex: ['re', false, flag],
    upward: ['up', false, flag],
    colour: ['c', '', oneOf('origin', 'object', 'name', 'change')],
    width: ['w', 'larger', oneOf('larger', 'old', 'new')],
    basis: ['b', 'total', oneOf('total', 'self')],
    sort: ['k', '', oneOf('name', 'module', 'self', 'total', 'calls', 'oldSelf', 'oldTotal',
                          'oldCalls', 'selfChange', 'totalChange')],
    ascending: ['asc', false, flag],
    scroll: ['y', -1, whole],
};

export function defaultState() {
    const state = {};
    for (const [name, [, value]] of Object.entries(FIELDS))
        state[name] = Array.isArray(value) ? [] : value;
    return state;
}

export function encodeState(state) {
    const parts = [];
    for (const [name, [key, initial, kind]] of Object.entries(FIELDS)) {
        const value = state[name];
        if (value === initial || (Array.isArray(value) && value.length === 0))
            continue;
        parts.push(`${key}=${encodeURIComponent(kind.write(value))}`);
    }
    return parts.join('&');
}

export function decodeState(fragment) {
    const state = defaultState();
    const given = new URLSearchParams(fragment.replace(/^#/, '').replace(/\+/g, '%2B'));
    for (const [name, [key, , kind]] of Object.entries(FIELDS)) {
        const value = given.get(key);
        const read = value === null ? undefined : kind.read(value);
        if (read !== undefined)
            state[name] = read;
    }
    return state;
}
