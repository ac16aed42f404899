/* For everyone: accessibility, dark, narrow, printed. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import test from 'node:test';
import { clickFrame, drawn, eventually, focusGraph, open, screenshot, text, useBrowser, walk }
    from './helpers.mjs';

useBrowser();

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/* Serious and critical findings of axe-core; the page's policy keeps scripts out, the debugger
 * does not. */
async function findings(page) {
    await page.evaluate(AXE);
    const { violations, passes } = await page.evaluate(() => window.axe.run(document));
    assert.ok(passes.length > 10, 'axe looked at the page');
    return violations.filter((one) => one.impact === 'serious' || one.impact === 'critical')
        .map((one) => `${one.id}: ${one.nodes.map((node) => node.html).join('\n').slice(0, 500)}`);
}

const VIEWS = ['#n=2', '#v=bottom&n=2', '#v=sandwich&f=3', '#v=functions&f=3', '#v=source&f=3',
               '#s=h6&q=fib'];

test('axe finds nothing serious in any view, light', async (t) => {
    for (const fragment of VIEWS) {
        const page = await open(t, 'app', fragment, { colorScheme: 'light' });
        assert.deepEqual(await findings(page), [], fragment);
    }
});

test('axe finds nothing serious in any view, dark', async (t) => {
    for (const fragment of VIEWS) {
        const page = await open(t, 'app', fragment, { colorScheme: 'dark' });
        assert.deepEqual(await findings(page), [], fragment);
    }
});

test('axe finds nothing serious in a difference, in the menu and in the dialogs', async (t) => {
    for (const fragment of ['#n=3', '#v=changes&f=3']) {
        const page = await open(t, 'diff', fragment);
        assert.deepEqual(await findings(page), [], fragment);
    }
    const page = await open(t, 'app');
    await walk(page, ['ArrowDown', 'Shift+F10']);
    assert.deepEqual(await findings(page), [], 'menu');
    await page.keyboard.press('Escape');
    await page.keyboard.press('?');
    assert.deepEqual(await findings(page), [], 'help');
    await page.keyboard.press('Escape');
    await page.click('#about-button');
    assert.deepEqual(await findings(page), [], 'about');
});

test('dark by the choice of the system, at once', async (t) => {
    const page = await open(t, 'app', '', { colorScheme: 'dark' });
    const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const corner = () => page.evaluate(() => {
        const canvas = document.querySelector('canvas');
        return canvas.getContext('2d').getImageData(300, 10, 1, 1).data[0];
    });
    assert.equal(await paper(), 'rgb(21, 23, 27)');
    assert.ok(await corner() < 128);
    await screenshot(page, 'flame-dark');
    await page.emulateMedia({ colorScheme: 'light' });
    assert.equal(await paper(), 'rgb(255, 255, 255)');
    await eventually(corner, (red) => red > 128);
});

test('dark views', async (t) => {
    for (const [name, fragment] of [['functions-dark', '#v=functions&f=3'],
                                    ['source-dark', '#v=source&f=3']]) {
        const page = await open(t, 'app', fragment, { colorScheme: 'dark' });
        await screenshot(page, name);
        assert.equal(await text(page, '#details .name'), 'fib');
    }
    const page = await open(t, 'diff', '#n=3', { colorScheme: 'dark' });
    await screenshot(page, 'diff-dark');
});

test('readable and usable 360 pixels wide', async (t) => {
    const narrow = { viewport: { width: 360, height: 640 }, hasTouch: true };
    const page = await open(t, 'app', '', narrow);
    for (const key of ['1', '2', '3', '4', '5']) {
        await page.keyboard.press(key);
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= 360),
                  `view ${key} is no wider than the window`);
        assert.ok((await page.locator('main').boundingBox()).height >= 160);
    }
    await page.keyboard.press('1');
    await clickFrame(page, 'inflate');
    assert.equal(await text(page, '#details .name'), 'inflate');
    assert.deepEqual(await drawn(page), ['(root)', 'main', 'inflate', 'memcpy']);
    assert.deepEqual(await findings(page), []);
    await screenshot(page, 'narrow');
    const dark = await open(t, 'diff', '', { ...narrow, colorScheme: 'dark' });
    await screenshot(dark, 'narrow-dark');
});

test('printed: light, without controls, the graph whole', async (t) => {
    const page = await open(t, 'app', '#n=2', { colorScheme: 'dark' });
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
    assert.equal(await page.locator('.tools').isVisible(), false);
    assert.equal(await page.locator('.actions').isVisible(), false);
    assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor),
                 'rgb(255, 255, 255)');
    assert.ok((await drawn(page)).includes('step'));
    await eventually(() => page.evaluate(() => document.querySelector('canvas').getContext('2d')
        .getImageData(300, 10, 1, 1).data[0]), (red) => red > 128);
    await screenshot(page, 'printed');
    const pdf = await page.pdf();
    assert.ok(pdf.length > 5000);
    await page.emulateMedia({ media: 'screen', colorScheme: 'dark' });
    assert.equal(await page.locator('.tools').isVisible(), true);
});

test('what to click on is not printed', async (t) => {
    const page = await open(t, 'app');
    assert.equal(await page.locator('#details .hint').isVisible(), true);
    await page.emulateMedia({ media: 'print' });
    assert.equal(await page.locator('#details .hint').isVisible(), false);
});

test('a long table is printed in part, without empty pages', async (t) => {
    const page = await open(t, 'crowd', '#v=functions');
    await page.emulateMedia({ media: 'print' });
    await eventually(() => page.locator('.table-row').count(), (count) => count === 120);
    const height = await page.evaluate(() => document.documentElement.scrollHeight);
    assert.ok(height < 120 * 26 + 600, `${height} pixels`);
    await page.emulateMedia({ media: 'screen' });
    await eventually(() => page.locator('.table-row').count(), (count) => count < 60);
});

test('everything is reached by Tab', async (t) => {
    const page = await open(t, 'app', '#s=h6&n=2');
    const reached = new Set();
    for (let i = 0; i < 45; i++) {
        await page.keyboard.press('Tab');
        reached.add(await page.evaluate(() => {
            const item = document.activeElement;
            return item.id || item.getAttribute('role') || item.dataset.action ||
                item.getAttribute('aria-label');
        }));
    }
    for (const wanted of ['about-button', 'help-button', 'tab-flame', 'query', 'regex', 'process',
                          'thread', 'part', 'colour', 'upward', 'treeitem', 'focus', 'hide',
                          'merge', 'root', 'Remove step: Hide inflate'])
        assert.ok(reached.has(wanted), `${wanted} is reached: ${[...reached]}`);
    await focusGraph(page);
});
