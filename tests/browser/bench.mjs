/*
 * bench.mjs PAGE...: how long a page takes to show its first picture, to zoom and to search, in
 * headless Chromium. One JSON object a page on standard output: times in milliseconds, the best and
 * the median of several.
 */
import { chromium } from 'playwright-core';

const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
               '--disable-background-networking', '--disable-component-update', '--disable-sync'];
const ROUNDS = 3;

/* From the start of the navigation until the frame after the page is ready was painted. */
async function firstPicture(page, file) {
    await page.goto('about:blank');
    await page.goto(`file://${file}`, { waitUntil: 'commit' });
    await page.waitForSelector('html.ready', { timeout: 120000 });
    return page.evaluate(() => new Promise((resolve) => {
        requestAnimationFrame(() => setTimeout(() => resolve(performance.now()), 0));
    }));
}

/* From an event until the frame that shows its effect was painted. */
async function response(page, act, argument) {
    return page.evaluate(async ([source, given]) => {
        const start = performance.now();
        (0, eval)(`(${source})`)(given);
        await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 0)));
        return performance.now() - start;
    }, [act.toString(), argument]);
}

const press = (key) => {
    const target = document.querySelector('[role=treeitem][tabindex="0"]') ?? document.body;
    target.focus();
    target.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
};

const type = (text) => {
    const query = document.getElementById('query');
    query.value = text;
    query.dispatchEvent(new Event('input', { bubbles: true }));
};

async function measure(browser, file) {
    const times = { first_picture: [], zoom: [], search: [], regular_expression: [] };
    for (let round = 0; round < ROUNDS; round++) {
        const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
        times.first_picture.push(await firstPicture(page, file));
        for (let level = 0; level < 4; level++) {
            await response(page, press, 'ArrowDown');
            times.zoom.push(await response(page, press, 'Enter'));
        }
        times.zoom.push(await response(page, press, '0'));
        times.search.push(await response(page, type, `1${round}`));
        await page.click('#regex');
        times.regular_expression.push(await response(page, type, `(m|f).*_?${round}$`));
        const found = await page.textContent('#found');
        if (!/\d function/.test(found))
            throw new Error(`the search found nothing: ${found}`);
        await page.close();
    }
    const median = (list) => [...list].sort((a, b) => a - b)[list.length >> 1];
    return Object.fromEntries(Object.entries(times).map(([name, list]) =>
        [name, { best: Math.round(Math.min(...list)), median: Math.round(median(list)) }]));
}

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || '/usr/bin/chromium',
                                        headless: true, args: FLAGS });
for (const file of process.argv.slice(2))
    console.log(JSON.stringify({ file, ...await measure(browser, file) }));
await browser.close();
