/* The other views: bottom-up, sandwich, functions, source. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { boxes, clickFrame, drawn, focused, focusGraph, hash, hoverFrame, numbers, open, rows,
         screenshot, text, useBrowser, walk } from './helpers.mjs';

useBrowser();

test('tabs switch views by mouse, by arrow keys and by number', async (t) => {
    const page = await open(t, 'app');
    const chosen = () => page.locator('[role=tab][aria-selected=true]').textContent();
    await page.click('text=Bottom-up');
    assert.equal(await chosen(), 'Bottom-up');
    await page.keyboard.press('ArrowRight');
    assert.equal(await chosen(), 'Sandwich');
    assert.equal((await focused(page)).role, 'tab');
    await page.keyboard.press('End');
    assert.equal(await chosen(), 'Source');
    await page.keyboard.press('4');
    assert.equal(await chosen(), 'Functions');
    await page.keyboard.press('1');
    assert.equal(await chosen(), 'Flame graph');
});

test('bottom-up: functions by their own instructions, then their callers', async (t) => {
    const page = await open(t, 'app', '#v=bottom');
    const top = (await boxes(page, null)).filter((box) => box.top === 20).map((box) => box.name);
    assert.deepEqual(top.slice(0, 5), ['inflate', 'fib', 'parse(std::vector<int> const&)', 'worker',
                                       'step']);
    await hoverFrame(page, 'fib');
    assert.deepEqual(await numbers(page, '#tooltip'), {
        'Through here': '680 | 22.67 % of all', Calls: '14',
    });
    await clickFrame(page, 'memcpy');
    assert.deepEqual(await drawn(page), ['(root)', 'memcpy', 'parse(std::vector<int> const&)',
                                         'inflate', 'main', 'main']);
    await clickFrame(page, 'inflate');
    assert.deepEqual(await numbers(page), {
        'Through here': '50 | 1.67 % of all | 25.00 % of the callee', Calls: '5',
    });
    await page.goBack();
    await page.goBack();
    await screenshot(page, 'bottom-up');
});

test('bottom-up by keyboard', async (t) => {
    const page = await open(t, 'app');
    await page.keyboard.press('2');
    await walk(page, ['ArrowDown', 'ArrowRight', 'ArrowDown']);
    assert.match((await focused(page)).text, /^worker; Through here 500, 16\.67 % of all, 73\.53 % of the callee/);
    await page.keyboard.press('Enter');
    assert.deepEqual(await drawn(page), ['(root)', 'fib', 'worker']);
    await page.keyboard.press('Backspace');
    assert.ok((await drawn(page)).includes('main'));
});

test('sandwich: callers above, callees below, each path once', async (t) => {
    const page = await open(t, 'app');
    await clickFrame(page, 'fib', 0);
    await page.click('[data-action=sandwich]');
    assert.equal(await text(page, '.sandwich h2:first-of-type'), 'Callers of fib');
    assert.deepEqual(await drawn(page, 0), ['worker', 'main', 'fib']);
    assert.deepEqual(await drawn(page, 1), ['fib', 'fib', 'fib', 'step']);
    assert.equal((await numbers(page)).Total, '700 | 23.33 % of all');
    await hoverFrame(page, 'main', 0, 0);
    assert.equal((await numbers(page, '#tooltip'))['Through here'],
                 '200 | 6.67 % of all | 28.57 % of the callee');
    await clickFrame(page, 'main', 0, 0);
    assert.deepEqual(await drawn(page, 0), ['main', 'fib']);
    assert.equal(await text(page, '#details .name'), 'main');
    await clickFrame(page, 'fib', 1, 1);
    assert.equal((await numbers(page)).Total, '160 | 5.33 % of all | 22.86 % of the caller');
    await screenshot(page, 'sandwich');
});

test('sandwich by keyboard, for the selected caller in turn', async (t) => {
    const page = await open(t, 'app');
    await walk(page, ['ArrowDown', 'ArrowDown', 's']);
    assert.equal(await text(page, '.sandwich h2:first-of-type'), 'Callers of inflate');
    await focusGraph(page, 0);
    await page.keyboard.press('ArrowUp');
    assert.match((await focused(page)).text, /^main; Through here 800/);
    await page.keyboard.press('s');
    assert.equal(await text(page, '.sandwich h2:first-of-type'), 'Callers of main');
    assert.deepEqual(await drawn(page, 0), ['main']);
    await page.goBack();
    assert.equal(await text(page, '.sandwich h2:first-of-type'), 'Callers of inflate');
});

test('sandwich without a function says what to do', async (t) => {
    const page = await open(t, 'app', '#v=sandwich');
    assert.match(await text(page, '.sandwich .hint'), /press s/);
});

test('functions: exact, recursion counted once, sorted by a click', async (t) => {
    const page = await open(t, 'app', '#v=functions');
    assert.deepEqual((await rows(page)).slice(0, 3), [
        ['750', '800', '15', 'inflate', 'libz.so.1'],
        ['680', '700', '14', 'fib', 'app'],
        ['400', '750', '4', 'parse(std::vector<int> const&)', 'app'],
    ]);
    const sortedBy = () => page.locator('[role=columnheader][aria-sort=descending], ' +
        '[role=columnheader][aria-sort=ascending]').evaluate((head) =>
        `${head.textContent} ${head.getAttribute('aria-sort')}`);
    assert.equal(await sortedBy(), 'Self▼ descending');
    await page.click('button[data-column=total]');
    assert.deepEqual((await rows(page)).map((row) => row[1]).slice(0, 4),
                     ['2,200', '800', '800', '750']);
    await page.click('button[data-column=total]');
    assert.equal(await sortedBy(), 'Total▲ ascending');
    assert.equal((await rows(page))[0][1], '20');
    await page.click('button[data-column=name]');
    assert.equal((await rows(page))[0][3], '(signal 11)');
    await page.goBack();
    assert.equal(await sortedBy(), 'Total▲ ascending');
    await screenshot(page, 'functions');
});

test('functions by keyboard: sort, move, open', async (t) => {
    const page = await open(t, 'app', '#v=functions');
    await page.focus('button[data-column=calls]');
    await page.keyboard.press('Enter');
    assert.equal((await rows(page))[0][3], 'memcpy');
    assert.equal(await page.evaluate(() => document.activeElement.dataset.column), 'calls');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    assert.equal(await page.locator('.table-row[aria-selected=true]').getAttribute('aria-rowindex'),
                 '3');
    assert.equal(await text(page, '#details .name'), 'inflate');
    assert.deepEqual(await numbers(page), { Total: '800 | 26.67 % of all',
                                            Self: '750 | 25.00 % of all', Calls: '15' });
    await page.keyboard.press('End');
    assert.equal(await page.locator('.table-row[aria-selected=true]').getAttribute('aria-rowindex'),
                 '13');
    await page.keyboard.press('Home');
    await page.keyboard.press('Enter');
    assert.equal(await text(page, '.sandwich h2:first-of-type'), 'Callers of memcpy');
});

test('functions: a row selected by mouse, acted on by menu', async (t) => {
    const page = await open(t, 'app', '#v=functions');
    await page.click('.table-row:has-text("fib")');
    assert.equal(await text(page, '#details .name'), 'fib');
    await page.click('.table-row:has-text("fib")', { button: 'right' });
    await page.click('#menu >> text=Hide');
    assert.equal(await text(page, '#summary'), '2,300 instructions, 700 left out');
    assert.ok(!(await rows(page)).some((row) => row[3] === 'fib'));
});

test('source: the lines of a function with their counts, text embedded', async (t) => {
    const page = await open(t, 'app');
    await clickFrame(page, 'fib', 0);
    await page.keyboard.press('l');
    assert.equal(await text(page, '.source h2'), 'fib');
    const lines = await page.locator('.source tr.ran').evaluateAll((found) => found.map((row) =>
        [...row.children].map((cell) => cell.textContent)));
    assert.deepEqual(lines, [['31', '40', '5.71 %', 'long fib(long n)'],
                             ['32', '60', '8.57 %', '    line 32;'],
                             ['34', '600', '85.71 %', '    line 34;']]);
    assert.equal(await page.locator('.source tbody tr').count(), 12, 'with four lines around');
    await screenshot(page, 'source');
});

test('source: without the text, the lines alone and what would help', async (t) => {
    const page = await open(t, 'app');
    await clickFrame(page, 'helper');
    await page.click('[data-action=source]');
    assert.match(await text(page, '.source'), /--embed-source/);
    assert.deepEqual(await page.locator('.source tr.ran td').allTextContents(),
                     ['90', '100.00 %', '']);
});

test('source: a function without lines says why', async (t) => {
    const page = await open(t, 'app');
    await clickFrame(page, 'inflate');
    await page.keyboard.press('5');
    assert.match(await text(page, '.source'), /No lines are known/);
});

test('help lists the keys, the about box what was recorded', async (t) => {
    const page = await open(t, 'app');
    await focusGraph(page);
    await page.keyboard.press('?');
    assert.match(await text(page, '#help-dialog'), /Fold recursion.*Re-root/);
    await page.keyboard.press('Escape');
    assert.equal(await page.locator('#help-dialog').isVisible(), false);
    await page.click('#about-button');
    assert.match(await text(page, '#about-dialog'), /engine\s*native.*zlib1g-dbgsym/);
    await page.click('#about-close');
    assert.equal(hash(page), '');
});
