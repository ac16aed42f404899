/*
 * counts.js: columns of 64-bit counts, and how numbers are written.
 *
 * A number of JavaScript is exact up to 2^53; a long recording passes that. BigInt is exact but an
 * object per value, about fifty times slower to sum. So a column is two Uint32Arrays, low and high
 * halves: a sum is two integer additions and a carry, a million nodes are summed in a few
 * milliseconds, and nothing is ever rounded. BigInt appears only where a number is shown; doubles
 * only where one becomes pixels or a percentage.
 */

const TWO_32 = 4294967296;

export class Counts {
    constructor(size) {
        this.low = new Uint32Array(size);
        this.high = new Uint32Array(size);
    }

    /* this[i] += from[j] */
    add(i, from, j) {
        const sum = this.low[i] + from.low[j];
        this.low[i] = sum;
        this.high[i] += from.high[j] + (sum >= TWO_32 ? 1 : 0);
    }

    copy(i, from, j) {
        this.low[i] = from.low[j];
        this.high[i] = from.high[j];
    }

    isZero(i) {
        return (this.low[i] | this.high[i]) === 0;
    }

    /* Rounded beyond 2^53: for widths and shares only. */
    number(i) {
        return this.high[i] * TWO_32 + this.low[i];
    }

    exact(i) {
        return (BigInt(this.high[i]) << 32n) | BigInt(this.low[i]);
    }

    /* The values from `from` to `to`, sharing memory with this column. */
    slice(from, to) {
        const part = Object.create(Counts.prototype);
        part.low = this.low.subarray(from, to);
        part.high = this.high.subarray(from, to);
        return part;
    }

    clone() {
        const twin = Object.create(Counts.prototype);
        twin.low = this.low.slice();
        twin.high = this.high.slice();
        return twin;
    }
}

/* -1, 0 or 1 as a[i] is smaller than, equal to or larger than b[j]. */
export function compareCounts(a, i, b, j) {
    if (a.high[i] !== b.high[j])
        return a.high[i] < b.high[j] ? -1 : 1;
    if (a.low[i] !== b.low[j])
        return a.low[i] < b.low[j] ? -1 : 1;
    return 0;
}

/* 1234567n -> "1,234,567". Our own grouping: the same on every machine, whatever its locale. */
export function formatCount(value) {
    const text = String(value);
    const sign = text[0] === '-' ? '−' : '';
    return sign + text.replace('-', '').replace(/\B(?=(\d{3})+$)/g, ',');
}

export function formatChange(value) {
    return (value > 0n ? '+' : '') + formatCount(value);
}

/* A share of a whole: two decimals, and never "0.00 %" for something that is there. */
export function formatShare(part, whole) {
    if (!(whole > 0))
        return part > 0 ? 'new' : '0 %';
    const percent = part / whole * 100;
    if (percent === 0)
        return '0 %';
    if (Math.abs(percent) < 0.01)
        return percent < 0 ? '> −0.01 %' : '< 0.01 %';
    return `${percent.toFixed(2).replace('-', '−')} %`;
}

/* "+12.5 %", "new", "gone": how far `after` is from `before`. */
export function formatRelativeChange(before, after) {
    if (before === after)
        return '±0 %';
    if (before === 0n)
        return 'new';
    if (after === 0n)
        return 'gone';
    const share = formatShare(Number(after - before), Number(before));
    return after > before && share[0] !== '<' ? '+' + share : share;
}
