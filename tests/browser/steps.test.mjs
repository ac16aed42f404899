/* Focus, hide, merge, fold, re-root: by key, by menu, by button; the trail; sums that stay. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { boxes, clickFrame, drawn, focused, focusGraph, hash, numbers, open, screenshot, text, trail,
         useBrowser, walk } from './helpers.mjs';

useBrowser();

const summary = (page) => text(page, '#summary');
const widthOf = async (page, name, which = 0) => (await boxes(page, name))[which].width;

test('focus by key keeps the paths through a function, whole', async (t) => {
    const page = await open(t, 'app');
    await clickFrame(page, 'memcpy');
    await page.keyboard.press('f');
    assert.deepEqual(await trail(page), ['Focus memcpy']);
    assert.equal(await summary(page), '200 instructions, 2,800 left out');
    await page.keyboard.press('0');
    assert.deepEqual((await drawn(page)).sort(), ['(root)', 'inflate', 'main', 'memcpy', 'memcpy',
                                                  'parse(std::vector<int> const&)']);
    await clickFrame(page, 'inflate');
    assert.equal((await numbers(page)).Self, '0 | 0 % of all');
    assert.equal((await numbers(page)).Total, '50 | 25.00 % of all | 25.00 % of the caller');
    await screenshot(page, 'steps');
});

test('hide by menu leaves out every path through a function and says how much', async (t) => {
    const page = await open(t, 'app');
    await clickFrame(page, 'inflate', 0, 0, { button: 'right' });
    assert.equal(await page.locator('#menu').isVisible(), true);
    await page.click('#menu >> text=Hide');
    assert.equal(await page.locator('#menu').isVisible(), false);
    assert.deepEqual(await trail(page), ['Hide inflate']);
    assert.equal(await summary(page), '2,200 instructions, 800 left out');
    assert.ok(!(await drawn(page)).includes('inflate'));
});

test('merge by button gives a function to its caller; the sum stays', async (t) => {
    const page = await open(t, 'app');
    await clickFrame(page, 'inflate');
    await page.click('[data-action=merge]');
    assert.equal(await summary(page), '3,000 instructions');
    assert.ok(!(await drawn(page)).includes('inflate'));
    await page.keyboard.press('0');
    await clickFrame(page, 'main');
    assert.deepEqual(await numbers(page), { Total: '2,200 | 73.33 % of all',
                                            Self: '850 | 28.33 % of all', Calls: '1' });
    const memcpy = (await boxes(page, 'memcpy')).map((box) => box.top);
    assert.deepEqual(memcpy, [40, 60], 'one moved up to main, one still under parse');
});

test('fold joins recursion of a function; total and sum stay', async (t) => {
    const page = await open(t, 'app');
    await clickFrame(page, 'main');
    const before = await widthOf(page, 'fib');
    await clickFrame(page, 'fib');
    await page.keyboard.press('r');
    assert.deepEqual(await trail(page), ['Fold fib']);
    assert.deepEqual(await drawn(page), ['(root)', 'main', 'fib', 'step']);
    assert.deepEqual(await numbers(page), {
        Total: '200 | 6.67 % of all | 9.09 % of the caller', Self: '180 | 6.00 % of all',
        Calls: '7',
    });
    await page.keyboard.press('Backspace');
    assert.equal(await widthOf(page, 'fib'), before);
    assert.equal(await summary(page), '3,000 instructions');
});

test('re-root makes a function the top and cuts off what is above', async (t) => {
    const page = await open(t, 'app');
    await clickFrame(page, 'fib');
    await page.keyboard.press('t');
    await page.keyboard.press('0');
    assert.deepEqual(await trail(page), ['Root fib']);
    assert.equal(await summary(page), '700 instructions, 2,300 left out');
    assert.deepEqual(await drawn(page), ['(root)', 'fib', 'fib', 'fib', 'step']);
});

test('all recursion and all inlined frames go with one key each', async (t) => {
    const page = await open(t, 'app');
    await focusGraph(page);
    await page.keyboard.press('Shift+R');
    assert.deepEqual(await trail(page), ['Fold all recursion ']);
    assert.equal((await boxes(page, 'fib')).length, 2);
    await page.keyboard.press('Shift+I');
    assert.deepEqual(await trail(page), ['Fold all recursion ', 'Merge inlined frames ']);
    assert.equal((await boxes(page, null)).filter((box) => box.inlined).length, 0);
    assert.equal(await summary(page), '3,000 instructions');
});

test('an object is merged whole', async (t) => {
    const page = await open(t, 'app');
    await clickFrame(page, 'inflate');
    await page.keyboard.press('o');
    assert.deepEqual(await trail(page), ['Merge object libz.so.1']);
    assert.equal(await summary(page), '3,000 instructions');
});

test('steps are removed one by one by mouse, and the last by key', async (t) => {
    const page = await open(t, 'app');
    await clickFrame(page, 'inflate');
    await page.keyboard.press('h');
    await page.keyboard.press('0');
    await clickFrame(page, 'worker');
    await page.keyboard.press('h');
    assert.deepEqual(await trail(page), ['Hide inflate', 'Hide worker']);
    assert.equal(await summary(page), '1,400 instructions, 1,600 left out');
    await page.click('[aria-label="Remove step: Hide inflate"]');
    assert.deepEqual(await trail(page), ['Hide worker']);
    assert.equal(await summary(page), '2,200 instructions, 800 left out');
    await focusGraph(page);
    await page.keyboard.press('u');
    assert.equal(await page.locator('#trail').isVisible(), false);
    assert.equal(await summary(page), '3,000 instructions');
    await page.goBack();
    assert.deepEqual(await trail(page), ['Hide worker']);
});

test('the zoom follows its path through a step', async (t) => {
    const page = await open(t, 'app');
    await clickFrame(page, 'parse(std::vector<int> const&)');
    await page.keyboard.press('Shift+I');
    assert.equal((await drawn(page))[2], 'parse(std::vector<int> const&)');
    assert.equal((await numbers(page)).Self, '600 | 20.00 % of all');
});

test('the menu opens and works by keyboard alone and gives the focus back', async (t) => {
    const page = await open(t, 'app');
    await walk(page, ['ArrowDown', 'ArrowDown', 'Shift+F10']);
    assert.equal((await focused(page)).role, 'menuitem');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    assert.match((await focused(page)).text, /^Hide/);
    await page.keyboard.press('Escape');
    assert.match((await focused(page)).text, /^inflate/);
    await page.keyboard.press('Shift+F10');
    await page.keyboard.press('m');
    assert.deepEqual(await trail(page), ['Merge inflate']);
    assert.equal((await focused(page)).role, 'treeitem');
    await screenshot(page, 'keyboard');
});

test('steps hold in every view', async (t) => {
    const page = await open(t, 'app');
    await clickFrame(page, 'inflate');
    await page.keyboard.press('h');
    for (const key of ['2', '4']) {
        await page.keyboard.press(key);
        assert.equal(await summary(page), '2,200 instructions, 800 left out');
        assert.deepEqual(await trail(page), ['Hide inflate']);
    }
    assert.ok(!(await page.locator('.table-row').allTextContents()).join().includes('inflate'));
    assert.match(hash(page), /s=h\d+/);
});
