/*
 * helpers.mjs: opens the test pages in Chromium and acts on them as a person does: real mouse,
 * real keys. What is asserted is what the page shows: text of elements, the accessible tree, and
 * the boxes that were drawn, as the page's own mouse handling finds them.
 */
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { after, before } from 'node:test';
import { chromium } from 'playwright-core';

export const BUILD = process.env.TRUEFLAME_BUILD;
export const PAGES = `${BUILD}/browser`;
const SHOTS = `${BUILD}/screenshots`;
const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
               '--disable-background-networking', '--disable-component-update', '--disable-sync'];

let browser;

/* Call at the top of a test file. */
export function useBrowser() {
    before(async () => {
        browser = await chromium.launch({ executablePath: process.env.CHROMIUM || '/usr/bin/chromium',
                                          headless: true, args: FLAGS });
    });
    after(async () => browser.close());
}

/* A page that fails the test on any error, dialog or request; closed when the test ends. */
export async function open(t, name, fragment = '', options = {}) {
    const context = await browser.newContext({ viewport: { width: 1200, height: 760 }, ...options });
    t.after(() => context.close());
    context.setDefaultTimeout(120000); /* the machine may be busy */
    const page = await context.newPage();
    page.problems = [];
    page.on('pageerror', (problem) => page.problems.push(`error: ${problem.stack}`));
    page.on('console', (message) => {
        if (/getImageData/.test(message.text()))
            return; /* the tests themselves read pixels */
        if (message.type() === 'error' || message.type() === 'warning')
            page.problems.push(`console: ${message.text()}`);
    });
    page.on('dialog', (dialog) => {
        page.problems.push(`dialog: ${dialog.message()}`);
        dialog.dismiss();
    });
    page.on('request', (request) => {
        if (!/^(file|data|blob):/.test(request.url()))
            page.problems.push(`request: ${request.url()}`);
    });
    t.after(() => assert.deepEqual(page.problems, []));
    await go(page, name, fragment);
    return page;
}

export async function go(page, name, fragment = '') {
    await page.goto(`file://${PAGES}/${name}.html${fragment}`);
    await page.waitForSelector('html.ready', { timeout: 120000 });
}

export async function screenshot(page, name) {
    mkdirSync(SHOTS, { recursive: true });
    await page.mouse.move(0, 0);
    await page.screenshot({ path: `${SHOTS}/${name}.png`, animations: 'disabled' });
}

/* The boxes of the graph (the first or second on the page) that have this name. */
export async function boxes(page, name, graph = 0) {
    return page.evaluate(([wanted, index]) => window.trueflame.boxes()[index]
        .filter((box) => !box.merged && (wanted === null || box.name === wanted)), [name, graph]);
}

export async function drawn(page, graph = 0) {
    return (await boxes(page, null, graph)).map((box) => box.name);
}

/* The middle of a frame on the screen; `which` when several have the name. */
export async function placeOf(page, name, which = 0, graph = 0) {
    const found = await boxes(page, name, graph);
    assert.ok(found[which], `${name} is not drawn`);
    const canvas = await page.locator('canvas').nth(graph).boundingBox();
    return { x: canvas.x + found[which].left + found[which].width / 2,
             y: canvas.y + found[which].top + 10, width: found[which].width };
}

export async function clickFrame(page, name, which = 0, graph = 0, options = {}) {
    const { x, y } = await placeOf(page, name, which, graph);
    await page.mouse.click(x, y, options);
}

export async function hoverFrame(page, name, which = 0, graph = 0) {
    const { x, y } = await placeOf(page, name, which, graph);
    await page.mouse.move(x, y);
}

/* "Total": "2,200 73.33 % of all ..." of the panel or of the tooltip. */
export async function numbers(page, where = '#details') {
    return page.locator(`${where} .numbers`).evaluate((list) => Object.fromEntries(
        [...list.querySelectorAll('dt')].map((term) => [term.textContent,
            [...term.nextElementSibling.querySelectorAll('b, .note')]
                .map((part) => part.textContent).join(' | ')])));
}

export async function text(page, selector) {
    return (await page.locator(selector).textContent()).replace(/\s+/g, ' ').trim();
}

/* What a screen reader would say of the focused element. */
export async function focused(page) {
    return page.evaluate(() => {
        const item = document.activeElement;
        return { role: item.getAttribute('role'), text: item.textContent,
                 level: item.getAttribute('aria-level'), position: item.getAttribute('aria-posinset'),
                 size: item.getAttribute('aria-setsize'),
                 selected: item.getAttribute('aria-selected') };
    });
}

export async function focusGraph(page, graph = 0) {
    await page.locator('[role=tree]').nth(graph).locator('[tabindex="0"]').focus();
}

/* Selects a frame of the graph with the keyboard alone: keys from the root. */
export async function walk(page, keys) {
    await focusGraph(page);
    for (const key of keys)
        await page.keyboard.press(key);
}

export async function trail(page) {
    return page.locator('#trail li .step').allTextContents();
}

/* Rows of the table in sight, as texts of cells: numbers first, then name and object. */
export async function rows(page) {
    return page.locator('.table-row').evaluateAll((found) => found.map((row) => {
        const [name, ...rest] = [...row.children]
            .map((cell) => cell.querySelector('.value').textContent);
        return [...rest.slice(0, -1), name, rest.at(-1)];
    }));
}

export function hash(page) {
    return decodeURIComponent(new URL(page.url()).hash);
}

/* The address of moves that replace the entry is written a moment later, rows are drawn with the
 * next picture. */
export async function settled(page) {
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() =>
        setTimeout(resolve, 0))));
    await page.waitForFunction(() => window.trueflame.isSettled());
}

/* Waits until the page's answer is the wanted one; the last answer is what an error shows. */
export async function eventually(ask, isWanted) {
    let answer;
    for (let tries = 0; tries < 100; tries++) {
        answer = await ask();
        if (isWanted(answer))
            return;
        await new Promise((resolve) => setTimeout(resolve, 100));
    }
    assert.fail(`still ${answer} after 10 s`);
}
